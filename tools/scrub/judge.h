/* SPDX-License-Identifier: MIT */
/* One window at a time: reads it from every member that has it, decides which bytes are right, and makes the others
 * equal. */
#pragma once
#include "scrub/findings.h"
#include "volume/content_map.h"

struct judge_setup {
	struct source *source;
	const struct catalogue *catalogue;
	struct content_map *map;
	struct findings *findings;
	bool repair; /* source may be written, and nobody else writes to it */
	pthread_mutex_t *lock; /* whoever reads again and repairs has it */
};

struct judge; /* of one thread */

must_check int judge_new(const struct judge_setup *setup, struct judge **ret, struct error *err);
void judge_free(struct judge *judge);
/* What belongs to the window: call it in the order of windows, one thread after the other; */
must_check int judge_ask(struct judge *judge, const struct rows_window *window, struct error *err);
/* then judges it. A failure is one to look at anything, or that the volume is no longer ours to write to. */
must_check int judge_window(struct judge *judge, struct error *err);
