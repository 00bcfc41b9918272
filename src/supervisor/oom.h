/* SPDX-License-Identifier: MIT */
/* Which process the kernel ends when memory runs out: /proc/PID/oom_score_adj, see choom(1). */
#pragma once

struct oom_score {
	char text[16]; /* as the kernel has it; "": it is not known */
};

/* Exempts this process, if it may. Returns the score that it had. */
struct oom_score oom_exempt(void);
/* Gives this process a score. Async-signal-safe. */
void oom_restore(const struct oom_score *score);
