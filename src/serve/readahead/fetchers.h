/* SPDX-License-Identifier: MIT */
/* The fetchers of a mount taken together: the one for walkers and the one for announced files. A mount may have
 * none. */
#pragma once
#include <stdbool.h>

#include "serve/serve.h"

/* Ends their threads. False: one is stuck in the device and was left running, see fetcher_stop(). A second call is
 * allowed. */
bool fetchers_stop(struct serve *serve);
/* Frees the fetchers and everything else that reads ahead, after fetchers_stop(). */
void fetchers_free(struct serve *serve);

/* Call fetcher_tick(), fetcher_renew() and fetcher_leave() for each. Any thread may call these. */
void fetchers_tick(const struct serve *serve);
void fetchers_renew(const struct serve *serve);
void fetchers_leave(const struct serve *serve);
