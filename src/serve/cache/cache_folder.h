/* SPDX-License-Identifier: MIT */
/* The machine's own folder of a mount, of the option cache=: indexes are read from the copies in it, and copies are
 * made. Without the folder, or where it has nothing, everything comes from the volume. */
#pragma once
#include "image/catalogue/catalogue.h"
#include "opened/opened_version.h"
#include "serve/serve.h"

struct cache_folder;

/* Opens the folder, if the mount has one, and sets serve->cache_folder. A folder that cannot be used costs a line in
 * the log. A successor takes the descriptor of the former server; without one it goes on without the folder. Call it
 * before privileges are dropped and before a version is opened. */
must_check int cache_folder_open(struct serve *serve, struct error *err);
/* Starts the thread that makes copies. */
must_check int cache_folder_start(struct serve *serve, struct error *err);
/* Ends it. False: the drive holds it back; it was left running and may use the folder until the process ends. */
must_check bool cache_folder_stop(struct cache_folder *cache);
void cache_folder_free(struct cache_folder *cache); /* NULL is allowed, also above */

/* Notes the mount's socket, at which others of the same user may borrow indexes. Before cache_folder_start(); both
 * texts must stay. */
void cache_folder_announce(struct serve *serve, const char *name, const char *path);
/* Borrows the index of a version, which then takes no memory, and its block checksums from another mount of the user
 * that has it open; if none has, leaves *ret as it is. Threads as below. */
void cache_folder_borrow(struct serve *serve, const struct version *version, const struct members *members,
			 struct opened_version *ret);
/* Opens a version: keeps the borrowed parts in *opened, and loads the others from good copies or else from the volume.
 * A wrong copy will be removed. On failure *opened is closed. Control thread, that of visits, or before they run. */
must_check int cache_folder_load(struct serve *serve, const struct version *version, const struct members *members,
				 struct opened_version *opened, struct error *err);
/* Has copies made of the version's index and of the head of its block checksums, unless there are, and those of
 * versions that are gone removed. */
void cache_folder_keep(struct serve *serve, const struct catalogue *catalogue, struct generation *generation);
/* Returns the descriptor of the folder. */
int cache_folder_fd(const struct cache_folder *cache);
