/* SPDX-License-Identifier: MIT */
/* Reads files that users announced, before they ask for them, with a fetcher of its own: files that lie side by side
 * with one read, and for each user no more than a share. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "serve/readahead/ahead.h"
#include "serve/readahead/upcoming.h"

struct fetcher;
struct generation;
struct inode;
struct serve;
struct announced;

#define ANNOUNCED_USERS 16u   /* limit of users who have files waiting or kept */
#define ANNOUNCED_FILE  2048u /* bytes of a user's share for each file that may wait to be read */

/* A user who announces files. */
struct announced_user {
	uint32_t uid;
	bool may_switch; /* the user may switch the mount, and has room reserved */
};

/* Files of a version, in the order in which the user will read them. */
struct announced_files {
	struct generation *generation;
	const struct upcoming_file *files; /* size 0: it is accepted and skipped */
	uint32_t count;
};

/* Starts the fetcher, which keeps up to serve->options.prefetch bytes, and sets serve->announced; it stays NULL if the
 * option is 0. Call it before the workers start. */
must_check int announced_start(struct serve *serve, struct error *err);
/* Ends the thread. False: it is stuck in the device and was left running, see fetcher_stop(). NULL is allowed. */
bool announced_stop(struct announced *all);
/* Frees the object, after announced_stop(). NULL is allowed. */
void announced_free(struct announced *all);

/* Queues files. Accepts as many as there is room for, from the first on, and returns how many. *ret_credit: how many
 * more it would accept now. It never waits for the device. Call it in a section. */
uint32_t announced_add(struct announced *all, const struct announced_user *user, const struct announced_files *files,
		       uint32_t *ret_credit);
/* Looks for a READ's bytes among the announced files that were read, and pins them as kept_take() does. KEPT_NONE if
 * `all` is NULL. */
enum kept_found announced_take(struct announced *all, const struct kept_range *range, struct kept_waiter *waiter,
			       struct kept_piece *ret);
/* Notes that a READ brings this file itself. NULL is allowed. */
void announced_forget(struct announced *all, const struct generation *generation, const struct inode *inode);
/* Unpins a piece from announced_take(). */
void announced_release(struct announced *all, const struct kept_piece *piece);
/* The fetcher that reads announced files. */
struct fetcher *announced_fetcher(const struct announced *all);
/* Has the fetcher look whether files may be read by now that had to wait. The watchdog calls it once a second. NULL is
 * allowed. */
void announced_tick(struct announced *all);
