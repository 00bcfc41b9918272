/* SPDX-License-Identifier: MIT */
/* Watches for suspect members (read/route.h): logs when a member becomes suspect and when it recovers, and redirects
 * READs that wait for one that does not answer. Runs in the watchdog's thread. */
#pragma once
#include <stdbool.h>

#include "datasetfs/format.h"
#include "serve/serve.h"

struct suspects {
	bool was[DSFS_MEMBER_MAX + 1]; /* the member was suspect at the last check */
	bool is_failing; /* reads of a suspect member fail instead of hanging: its device may have moved */
};

/* Checks all members. Returns whether any is suspect; always false if the volume has one member. */
bool suspects_look(struct suspects *suspects, struct serve *serve);
