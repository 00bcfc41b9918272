/* SPDX-License-Identifier: MIT */
/* Reading ahead across files: for a thread that reads files in the order of the tree, the next files are read before it
 * asks for them. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "serve/ahead/fetcher.h"

struct ahead;
struct channel_request;
struct generation;
struct serve;

/* Starts reading ahead, up to serve->options.ahead bytes, and sets serve->ahead; it stays NULL if the option is 0. Call
 * it before the workers start. */
must_check int ahead_start(struct serve *serve, struct error *err);
/* Ends the thread. False: the device holds it, and it is left behind, see fetcher_stop(). NULL is allowed. */
bool ahead_stop(struct ahead *ahead);
/* Frees it after ahead_stop(). NULL is allowed. */
void ahead_free(struct ahead *ahead);
/* The fetcher that reads ahead of walkers; NULL if ahead is NULL. */
struct fetcher *ahead_fetcher(const struct ahead *ahead);

/* Notes that a thread began to READ this file at its head, and reads ahead if the thread is a walker. It never waits.
 * Any worker may call this, in a section. NULL is allowed. */
void ahead_read(struct ahead *ahead, struct generation *generation, uint32_t thread, uint64_t ordinal);
/* Looks for a READ's bytes among those read ahead, see kept_take(). ahead NULL: KEPT_NONE. */
enum kept_found ahead_take(struct ahead *ahead, const struct kept_range *range, struct kept_waiter *waiter,
			   struct kept_piece *ret);
/* Unpins a piece from ahead_take(), and has files behind it stored that the kernel did not know before. */
void ahead_release(struct ahead *ahead, struct generation *generation, const struct kept_piece *piece);
