/* SPDX-License-Identifier: MIT */
/* Reading ahead across files: whoever reads files in the order of the tree finds the next ones there already. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "serve/ahead/fetcher.h"

struct ahead;
struct channel_request;
struct generation;
struct serve;

/* What a READ asks for. */
struct ahead_wish {
	const struct generation *generation;
	uint64_t ordinal, offset, size;
};

/* serve->options.ahead bytes at most; sets serve->ahead, which stays NULL when it is 0. Before the workers start. */
must_check int ahead_start(struct serve *serve, struct error *err);
/* As fetcher_stop(). */
bool ahead_stop(struct ahead *ahead);
void ahead_free(struct ahead *ahead);
/* NULL too. */
struct fetcher *ahead_fetcher(const struct ahead *ahead);

/* A READ of this file began at its head, by this thread. Any thread, in a section; never waits. NULL too. */
void ahead_read(struct ahead *ahead, struct generation *generation, uint32_t thread, uint64_t ordinal);
/* As kept_take() and kept_release(). NULL too. */
enum kept_found ahead_take(struct ahead *ahead, const struct ahead_wish *wish, struct kept_waiter *waiter,
			   struct kept_piece *ret);
void ahead_release(struct ahead *ahead, struct generation *generation, const struct kept_piece *piece);
