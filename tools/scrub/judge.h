/* SPDX-License-Identifier: MIT */
/* Judges one window at a time: reads it from every member that has it, decides which bytes are right, and makes the
 * others equal. */
#pragma once
#include "scrub/findings.h"
#include "volume/content_map.h"

struct judge_setup {
	struct source *source;
	const struct catalogue *catalogue;
	struct content_map *map;
	struct findings *findings;
	bool repair; /* source may be written, and no other process writes to it */
	pthread_mutex_t *lock; /* held while a thread reads a window again and repairs it */
};

struct judge; /* of one thread */

must_check int judge_new(const struct judge_setup *setup, struct judge **ret, struct error *err);
void judge_free(struct judge *judge);
/* Begins a window and gets its pieces. Call it in the order of windows, in one thread at a time. */
must_check int judge_ask(struct judge *judge, const struct rows_window *window, struct error *err);
/* Judges the window that judge_ask() began, and repairs it. Fails only without memory, or if another host has taken
 * over the volume. */
must_check int judge_window(struct judge *judge, struct error *err);
