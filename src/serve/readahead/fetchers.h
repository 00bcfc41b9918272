/* SPDX-License-Identifier: MIT */
/* The fetchers of a mount taken together: the one for walkers and the one for announced files. A mount may have
 * none. */
#pragma once
#include <stdbool.h>

#include "serve/readahead/fetcher.h"
#include "serve/serve.h"

/* Ends their threads. False: one is stuck in the device and was left running, see fetcher_stop(). A second call is
 * allowed. */
bool fetchers_stop(struct serve *serve);
/* Frees the fetchers and everything else that reads ahead, after fetchers_stop(). */
void fetchers_free(struct serve *serve);

/* Calls visit for each. Any thread may call this. */
void fetchers_each(const struct serve *serve, void (*visit)(struct fetcher *fetcher));
/* Calls fetcher_tick() for each, and looks after announcements. Any thread may call this. */
void fetchers_tick(const struct serve *serve);
