/* SPDX-License-Identifier: MIT */
/* Reads ahead across files: once a thread reads files in the order of the tree, the files that come next are read
 * before it asks for them. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "serve/readahead/fetcher.h"

struct ahead;
struct channel_request;
struct generation;
struct serve;

/* Starts reading ahead, up to serve->options.ahead bytes, and sets serve->ahead; it stays NULL if the option is 0. Call
 * it before the workers start. */
must_check int ahead_start(struct serve *serve, struct error *err);
/* Ends the thread. False: it is stuck in the device and was left running, see fetcher_stop(). NULL is allowed. */
bool ahead_stop(struct ahead *ahead);
/* Frees the object, after ahead_stop(). NULL is allowed. */
void ahead_free(struct ahead *ahead);
/* The fetcher that reads ahead of walkers; NULL if ahead is NULL. */
struct fetcher *ahead_fetcher(const struct ahead *ahead);

/* Notes that a thread READs this file from its beginning, and reads ahead if the thread is a walker. thread: its tid,
 * or 0 if it is in another pid namespace. It never waits. Any worker may call this, in a section. NULL is allowed. */
void ahead_read(struct ahead *ahead, struct generation *generation, uint32_t thread, uint64_t ordinal);
/* Looks for a READ's bytes among the files read ahead for walkers, and pins them as kept_take() does. KEPT_NONE if
 * ahead is NULL. */
enum kept_found ahead_take(struct ahead *ahead, const struct kept_range *range, struct kept_waiter *waiter,
			   struct kept_piece *ret);
/* Unpins a piece from ahead_take(). That READ shows that the kernel knows the file's directory by now, so files after
 * it that could not be stored before are stored now. */
void ahead_release(struct ahead *ahead, struct generation *generation, const struct kept_piece *piece);
