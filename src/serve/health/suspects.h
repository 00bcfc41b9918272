/* SPDX-License-Identifier: MIT */
/* Watches for suspect members (read/route.h): logs when a member becomes suspect and when it recovers, and redirects
 * READs that wait for one that does not answer. Runs in the watchdog's thread. */
#pragma once
#include <stdbool.h>

#include "datasetfs/format.h"
#include "serve/serve.h"

struct suspects {
	bool was[DSFS_MEMBER_MAX + 1]; /* the member was suspect at the last check */
	bool was_cached; /* so was the cache on this machine */
	bool is_failing; /* reads of a suspect member fail instead of hanging: its device may have moved */
};

/* Checks all members, and the cache. Returns whether any is suspect; a single member never is. */
bool suspects_look(struct suspects *suspects, struct serve *serve);
