/* SPDX-License-Identifier: MIT */
/* Members that are suspect (read/route.h): the log says which and when they are well again, and READs that wait at one
 * that does not answer go to another one. By the watchdog's thread. */
#pragma once
#include <stdbool.h>

#include "datasetfs/format.h"
#include "serve/serve.h"

struct suspects {
	bool was[DSFS_MEMBER_MAX + 1]; /* suspect at the last look */
	bool is_failing; /* one of them does not keep reads but fails: it may be somewhere else by now */
};

/* Whether there is one. Of a volume of one member there is none. */
bool suspects_look(struct suspects *suspects, struct serve *serve);
