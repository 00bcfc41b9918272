/* SPDX-License-Identifier: MIT */
/* Reads damaged places again, as they may have been repaired or their member replaced. Control thread only. */
#pragma once
#include <stdint.h>

#include "serve/serve.h"

struct recheck {
	int64_t when; /* time of the next check, ns, monotonic; 0: no damage is listed */
	uint32_t at;  /* number of the place to read next */
};

/* Checks a few places if that is due, and removes undamaged ones from the list. Returns when to call it again, ns,
 * monotonic; 0: no damage is listed. */
int64_t recheck_settle(struct serve *serve, struct recheck *recheck);
