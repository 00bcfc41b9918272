/* SPDX-License-Identifier: MIT */
/* Reads files that users announced, before they ask for them, with a fetcher of its own, and limits each user's
 * share. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "serve/ahead/ahead.h"

struct fetcher;
struct generation;
struct serve;
struct announced;

#define ANNOUNCED_OF_JOB  64u   /* files in a job; they are read in the order of the volume */
#define ANNOUNCED_OF_USER 8192u /* limit of one user's files that wait to be read */
#define ANNOUNCED_USERS   16u   /* limit of users who have files waiting */

/* The user who announces files. */
struct announced_user {
	uint32_t uid;
	bool may_switch; /* the user may switch the mount, and has room reserved */
};

/* A regular file of a version. */
struct announced_file {
	uint64_t ordinal;
	uint64_t size; /* a file of size 0, or larger than READ_MAX, is accepted and skipped */
};

/* Starts the fetcher, which keeps up to serve->options.prefetch bytes, and sets serve->announced; it stays NULL if the
 * option is 0. Call it before the workers start. */
must_check int announced_start(struct serve *serve, struct error *err);
/* Ends the thread. False: it is stuck in the device and was left running, see fetcher_stop(). NULL is allowed. */
bool announced_stop(struct announced *all);
/* Frees the object, after announced_stop(). NULL is allowed. */
void announced_free(struct announced *all);

/* Queues files of the generation, given in the order in which the user will read them. Accepts as many as there is room
 * for, from the first on, and returns how many. *ret_credit: how many more it would accept now. It never waits. Call it
 * in a section. */
uint32_t announced_add(struct announced *all, const struct announced_user *user, struct generation *generation,
		    const struct announced_file *files, uint32_t count, uint32_t *ret_credit);
/* Looks for a READ's bytes among the announced files that were read, and pins them as kept_take() does. KEPT_NONE if
 * `all` is NULL. */
enum kept_found announced_take(struct announced *all, const struct kept_range *range, struct kept_waiter *waiter,
			       struct kept_piece *ret);
/* Unpins a piece from announced_take(). */
void announced_release(struct announced *all, const struct kept_piece *piece);
/* The fetcher that reads announced files. */
struct fetcher *announced_fetcher(const struct announced *all);
