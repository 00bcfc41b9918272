/* SPDX-License-Identifier: MIT */
/* The machine's own folder of a mount, of the option cache=: indexes are read from the copies in it, and copies are
 * made. Without the folder, or where it has nothing, everything comes from the volume. */
#pragma once
#include "image/catalogue/catalogue.h"
#include "image/index.h"
#include "serve/serve.h"

struct local;

/* Opens the folder, if the mount has one, and sets serve->local. A folder that cannot be used costs a line in the log.
 * A successor takes the descriptor of the former server; without one it goes on without the folder. Call it before
 * privileges are dropped and before a version is opened. */
must_check int local_open(struct serve *serve, struct error *err);
/* Starts the thread that makes copies. */
must_check int local_start(struct serve *serve, struct error *err);
/* Ends it. False: the drive holds it back; it was left running and may use serve->local until the process ends. */
must_check bool local_stop(struct local *local);
void local_free(struct local *local); /* NULL is allowed, also above */

/* Notes the mount's socket, at which others of the same user may borrow indexes. Before local_start(); both texts must
 * stay. */
void local_announce(struct serve *serve, const char *name, const char *path);
/* Returns the index of a version that another mount of the user has open, which takes no memory; NULL: none has it.
 * Threads as below. */
struct index *local_borrow(struct serve *serve, const struct version *version, const struct members *members);
/* Loads the index of a version: from the copy if there is a right one, else from the volume. A copy that is wrong
 * will be removed. Control thread, that of visits, or before they run. */
must_check int local_load(struct serve *serve, const struct version *version, const struct members *members,
			  struct index **ret, struct error *err);
/* Loads the head of a version's block checksums from the copy. NULL: there is none, or it is wrong. */
struct block_sums *local_load_sums(struct serve *serve, const struct version *version, const struct members *members);
/* Has copies made of the version's index and of the head of its block checksums, unless there are, and those of
 * versions that are gone removed. */
void local_keep(struct serve *serve, const struct catalogue *catalogue, struct generation *generation);
/* Returns the descriptor of the folder. */
int local_folder(const struct local *local);
