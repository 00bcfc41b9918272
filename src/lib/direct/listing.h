/* SPDX-License-Identifier: MIT */
/* Lists a directory, or all that is below it, from the index. Callbacks may make calls on the same handle. */
#pragma once
#include "lib/lib.h"

/* Implements backend->list. Needs read permission for the directory. */
must_check int listing_list(struct opened *opened, uint64_t directory,
			    int (*each)(void *argument, const struct dsfs_dirent *entry), void *argument,
			    struct error *err);
/* Implements backend->walk. Needs read permission for every directory, and search permission for each that contains
 * others. */
must_check int listing_walk(struct opened *opened, uint64_t directory,
			    int (*each)(void *argument, const struct dsfs_dirent *entry), void *argument,
			    struct error *err);
