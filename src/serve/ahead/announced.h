/* SPDX-License-Identifier: MIT */
/* Has files read that users announce before they read them, by a fetcher of its own, and limits each user's share. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "serve/ahead/ahead.h"

struct fetcher;
struct generation;
struct serve;
struct announced;

#define ANNOUNCED_OF_JOB  64u   /* files of a job, which are read in the order of the volume */
#define ANNOUNCED_OF_USER 8192u /* limit of files that a user has waiting to be read */
#define ANNOUNCED_USERS   16u   /* limit of users who have files waiting */

/* The user who announces files. */
struct announced_user {
	uint32_t uid;
	bool may_switch; /* the user may switch the mount, and has room that others cannot take */
};

/* A regular file of a version. */
struct announced_file {
	uint64_t ordinal;
	uint64_t size; /* a file of size 0, or larger than READ_MAX, is accepted and skipped */
};

/* Starts the fetcher, which keeps serve->options.prefetch bytes at most, and sets serve->announced; it stays NULL if
 * the option is 0. Call it before the workers start. */
must_check int announced_start(struct serve *serve, struct error *err);
/* Ends the thread. False: the device holds it, and it is left behind, see fetcher_stop(). NULL is allowed. */
bool announced_stop(struct announced *all);
/* Frees it after announced_stop(). NULL is allowed. */
void announced_free(struct announced *all);

/* Accepts files of the generation, given in the order in which they will be read: the first of them, as many as there
 * is room for. Returns how many. *ret_credit: how many more it would accept now. It never waits. Call it in a
 * section. */
uint32_t announced_add(struct announced *all, const struct announced_user *user, struct generation *generation,
		    const struct announced_file *files, uint32_t count, uint32_t *ret_credit);
/* Looks for a READ's bytes among announced files that were read, see kept_take(). announced NULL: KEPT_NONE. */
enum kept_found announced_take(struct announced *all, const struct kept_range *range, struct kept_waiter *waiter,
			       struct kept_piece *ret);
/* Unpins a piece from announced_take(). */
void announced_release(struct announced *all, const struct kept_piece *piece);
/* The fetcher that reads announced files. */
struct fetcher *announced_fetcher(const struct announced *all);
