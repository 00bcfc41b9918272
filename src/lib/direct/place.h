/* SPDX-License-Identifier: MIT */
/* Finds where an id stands in the tree: its path, and the ids of a directory's entries. Nothing is searched and no
 * table is kept, see image/children.h. */
#pragma once
#include "lib/lib.h"

/* Implements backend->path. */
must_check int place_path(struct opened *opened, uint64_t id, char *buffer, size_t size, struct error *err);
/* Implements backend->range. Needs read permission for the directory. */
must_check int place_range(struct opened *opened, uint64_t directory, uint64_t *ret_first, uint64_t *ret_count,
			   struct error *err);
