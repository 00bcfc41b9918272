/* SPDX-License-Identifier: MIT */
/* Which process the kernel ends when memory runs out: /proc/PID/oom_score_adj, see choom(1). */
#pragma once
#include "base/error.h"

struct oom_score {
	char text[16]; /* as the kernel has it; "": it is not known */
};

/* Exempts this process. *ret_former is the score that it had, also on failure. */
must_check int oom_exempt(struct oom_score *ret_former, struct error *err);
/* Gives this process a score. Async-signal-safe. */
void oom_restore(const struct oom_score *score);
