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
struct wishes;

#define WISHES_OF_JOB  64u   /* files of a job, which are read in the order of the volume */
#define WISHES_OF_USER 8192u /* limit of files that a user has waiting to be read */
#define WISHES_USERS   16u   /* limit of users who have files waiting */

/* The user who announces files. */
struct wishes_user {
	uint32_t uid;
	bool may_switch; /* the user may switch the mount, and has room that others cannot take */
};

/* A regular file of a version. */
struct wish {
	uint64_t ordinal;
	uint64_t size; /* a file of size 0, or larger than READ_MAX, is accepted and skipped */
};

/* Starts the fetcher, which keeps serve->options.prefetch bytes at most, and sets serve->wishes; it stays NULL if the
 * option is 0. Call it before the workers start. */
must_check int wishes_start(struct serve *serve, struct error *err);
/* Ends the thread. False: the device holds it, and it is left behind, see fetcher_stop(). NULL is allowed. */
bool wishes_stop(struct wishes *wishes);
/* Frees it after wishes_stop(). NULL is allowed. */
void wishes_free(struct wishes *wishes);

/* Accepts files of the generation, given in the order in which they will be read: the first of them, as many as there
 * is room for. Returns how many. *ret_credit: how many more it would accept now. It never waits. Call it in a
 * section. */
uint32_t wishes_add(struct wishes *wishes, const struct wishes_user *user, struct generation *generation,
		    const struct wish *files, uint32_t count, uint32_t *ret_credit);
/* Looks for a READ's bytes among announced files that were read, see kept_take(). wishes NULL: KEPT_NONE. */
enum kept_found wishes_take(struct wishes *wishes, const struct ahead_wish *wish, struct kept_waiter *waiter,
			    struct kept_piece *ret);
/* Unpins a piece from wishes_take(). */
void wishes_release(struct wishes *wishes, const struct kept_piece *piece);
/* Calls fetcher_tick(). NULL is allowed. */
void wishes_tick(struct wishes *wishes);
/* Calls fetcher_renew(). NULL is allowed. */
void wishes_renew(struct wishes *wishes);
/* The fetcher that reads announced files. */
struct fetcher *wishes_fetcher(const struct wishes *wishes);
