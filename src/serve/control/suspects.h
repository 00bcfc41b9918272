/* SPDX-License-Identifier: MIT */
/* Watches for suspect members (read/route.h): logs when a member becomes suspect and when it recovers, and redirects
 * READs that wait for one that does not answer. Runs in the watchdog's thread. */
#pragma once
#include <stdbool.h>

#include "datasetfs/format.h"
#include "serve/serve.h"

struct suspects {
	bool was[DSFS_MEMBER_MAX + 1]; /* suspect at the last look */
	bool is_failing; /* reads of one of them fail instead of hanging: its device may have moved */
};

/* Whether any member is suspect. Always false if the volume has one member. */
bool suspects_look(struct suspects *suspects, struct serve *serve);
