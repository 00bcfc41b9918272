/* SPDX-License-Identifier: MIT */
/* Lists directories through a mount, and finds the ids of their entries. */
#pragma once
#include "lib/lib.h"

/* Implement backend->list, backend->walk and backend->range. */
must_check int mounted_tree_list(struct opened *opened, uint64_t directory,
				 int (*each)(void *argument, const struct dsfs_dirent *entry), void *argument,
				 struct error *err);
must_check int mounted_tree_walk(struct opened *opened, uint64_t directory,
				 int (*each)(void *argument, const struct dsfs_dirent *entry), void *argument,
				 struct error *err);
must_check int mounted_tree_range(struct opened *opened, uint64_t directory, uint64_t *ret_first, uint64_t *ret_count,
				  struct error *err);
