/* SPDX-License-Identifier: MIT */
/* Checks that superblocks and catalogues read later belong to the mounted volume and are not older than those seen
 * before. Any thread may call these functions. */
#pragma once
#include <stdbool.h>

#include "serve/serve.h"

/* Checks that a superblock belongs to the mounted volume and is no older than `seen`, the value of serve->volume.newest
 * before it was read: a read finds an older superblock if the newest slot is unreadable. -ESTALE if not. */
must_check int mounted_check(struct serve *serve, const struct superblock *super, uint64_t seen, struct error *err);
/* Reads the volume's catalogue anew and checks its superblock with mounted_check(). A mount begins with the newest
 * catalogue; later, with several members, it takes the newest that enough of them show, see catalogue_load_shown().
 * Raises serve->volume.newest, and notes the fate of the open versions (generations_compare()). *ret_super is also set
 * on failure: the superblock whose catalogue was read, zeroed if none could be. */
must_check int mounted_read(struct serve *serve, struct superblock *ret_super, struct catalogue *ret,
			    struct error *err);
/* Whether a superblock belongs to another volume. False for a zeroed one. */
bool mounted_is_other(const struct serve *serve, const struct superblock *super);
/* Reads the catalogue again, and returns whether the volume has a newer superblock than this one. False for a zeroed
 * one. */
bool mounted_is_outdated(struct serve *serve, const struct superblock *super);
