/* SPDX-License-Identifier: MIT */
/* The fetchers of a mount taken together: that of walkers and that of announced files. A mount may have none. */
#pragma once
#include <stdbool.h>

#include "serve/serve.h"

/* Ends their threads, each as fetcher_stop() does. False: the device holds one of them. A second call is allowed. */
bool fetchers_stop(struct serve *serve);
/* Frees all that reads ahead, after fetchers_stop(). */
void fetchers_free(struct serve *serve);

/* Call fetcher_tick(), fetcher_renew() and fetcher_leave() for each. Any thread may call these. */
void fetchers_tick(const struct serve *serve);
void fetchers_renew(const struct serve *serve);
void fetchers_leave(const struct serve *serve);
