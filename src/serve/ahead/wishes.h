/* SPDX-License-Identifier: MIT */
/* Files that users announce before they read them: jobs for a fetcher of its own, and the share that each user has. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "serve/ahead/ahead.h"

struct fetcher;
struct generation;
struct serve;
struct wishes;

#define WISHES_OF_JOB  64u   /* files that are read together, in the order of the volume */
#define WISHES_OF_USER 8192u /* files of a user that wait to be read */
#define WISHES_USERS   16u   /* that have files waiting */

/* Those who may switch the mount have room that others cannot take. */
struct wishes_user {
	uint32_t uid;
	bool may_switch;
};

/* A regular file of a version. */
struct wish {
	uint64_t ordinal;
	uint64_t size; /* empty ones, and those larger than READ_MAX, are taken and passed over */
};

/* serve->options.prefetch bytes are kept at most; sets serve->wishes, which stays NULL when it is 0. Before the workers
 * start. */
must_check int wishes_start(struct serve *serve, struct error *err);
/* As fetcher_stop() and fetcher_free(). NULL too. */
bool wishes_stop(struct wishes *wishes);
void wishes_free(struct wishes *wishes);

/* Files of the generation, in the order in which they will be read: takes the first of them, as many as there is room
 * for, and returns how many. *ret_credit: how many more it would take now. Inside a section; never waits. */
uint32_t wishes_add(struct wishes *wishes, const struct wishes_user *user, struct generation *generation,
		    const struct wish *files, uint32_t count, uint32_t *ret_credit);
/* As kept_take() and kept_release(). NULL too. */
enum kept_found wishes_take(struct wishes *wishes, const struct ahead_wish *wish, struct kept_waiter *waiter,
			    struct kept_piece *ret);
void wishes_release(struct wishes *wishes, const struct kept_piece *piece);
/* As fetcher_tick() and fetcher_renew(); NULL too. */
void wishes_tick(struct wishes *wishes);
void wishes_renew(struct wishes *wishes);
/* What reads them. */
struct fetcher *wishes_fetcher(const struct wishes *wishes);
