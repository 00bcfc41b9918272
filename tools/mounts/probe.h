/* SPDX-License-Identifier: MIT */
/* Looks at one mount from a child process: if the mount hangs, only the child does, and the program can end even if no
 * signal ends the child. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "mounts/reported.h"

struct probe; /* for use by one thread */

struct probe_answer {
	int code; /* 0, or the negative errno of a failed look: stats is not valid then */
	char reason[504];
	struct reported_stats stats;
};

/* Starts the process. mount: the mountpoint, absolute. */
must_check int probe_start(const char *mount, struct probe **ret, struct error *err);
/* Ends the process, which closes its files on the mount unless it hangs there. Waits for that until the given time (ns,
 * monotonic; 0: not at all). NULL does nothing. */
void probe_stop(struct probe *probe, int64_t until);

/* Asks for a new look at the counters, unless one is under way. */
void probe_ask(struct probe *probe);
/* Asks for a new look after the daemon has read the volume's catalogue, unless one is under way. */
void probe_ask_anew(struct probe *probe);
bool probe_is_asked(const struct probe *probe); /* true while an answer is pending */
int probe_fd(const struct probe *probe);        /* readable when there is an answer */
/* Takes the answer. Returns 1 if there was one, 0 if there is none yet. Negative: the process has ended, and the probe
 * is useless. */
must_check int probe_take(struct probe *probe, struct probe_answer *ret, struct error *err);
