/* SPDX-License-Identifier: MIT */
/* Looks at one mount from a process of its own: a mount that hangs keeps nobody else, and even what no signal ends does
 * not keep the program from ending. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "reported.h"

struct probe; /* all of it belongs to one thread */

struct probe_answer {
	int code; /* 0, or the negative errno with which the look failed: stats is nothing then */
	char reason[504];
	struct reported_stats stats;
};

/* mount: its absolute path. */
must_check int probe_start(const char *mount, struct probe **ret, struct error *err);
/* Its process ends, and lets go of the mount, unless it hangs there: nobody waits longer for that than until then (ns,
 * monotonic; 0: not at all). NULL is allowed. */
void probe_stop(struct probe *probe, int64_t until);

/* One more look, unless it is still at the last one. */
void probe_ask(struct probe *probe);
bool probe_is_asked(const struct probe *probe); /* and has not answered */
int probe_fd(const struct probe *probe);        /* readable when there is an answer */
/* 1: an answer; 0: none yet; else the process has ended, and the probe is of no more use. */
must_check int probe_take(struct probe *probe, struct probe_answer *ret, struct error *err);
