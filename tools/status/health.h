/* SPDX-License-Identifier: MIT */
/* Describes problems of a mount in words, from its own report. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mounts/reported.h"

#define HEALTH_TEXT_SIZE 512

struct health_trouble {
	const char *word;            /* "stalled" */
	char text[HEALTH_TEXT_SIZE]; /* what the word means for this mount */
};

/* Describes failed reads and errors that are over: "7 errors earlier, the last 10 min 3 s ago". False: there were none,
 * or they are still a problem. */
bool health_earlier(const struct reported_stats *stats, int64_t now, char text[HEALTH_TEXT_SIZE]);
/* Returns problem number index, the worst first; false: there are no more. mount: the mountpoint; now: seconds since
 * 1970. */
bool health_trouble(const struct reported_stats *stats, const char *mount, int64_t now, size_t index,
		    struct health_trouble *ret);
