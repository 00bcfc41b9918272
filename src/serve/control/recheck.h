/* SPDX-License-Identifier: MIT */
/* Reads places again that reads found damaged: they may have been repaired, or their member replaced. For the control
 * thread. */
#pragma once
#include <stdint.h>

#include "serve/serve.h"

struct recheck {
	int64_t when; /* to look next, ns, monotonic; 0: nothing is listed */
	uint32_t at;  /* number of the place that is next */
};

/* Takes what is right by now from the list of damage. Returns when to come back; 0: nothing is listed. */
int64_t recheck_settle(struct serve *serve, struct recheck *recheck);
