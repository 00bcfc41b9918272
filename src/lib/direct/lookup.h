/* SPDX-License-Identifier: MIT */
/* Finds paths in an opened version as the kernel does in a mount of it, by openat2(2) with RESOLVE_BENEATH. */
#pragma once
#include "lib/lib.h"

/* Implements backend->lookup. A path may be longer than PATH_MAX. */
must_check int lookup_id(struct opened *opened, const char *path, uint64_t *ret_id, struct error *err);
/* Implements backend->lookup_many. */
must_check int lookup_ids(struct opened *opened, const char *const *paths, size_t count, int64_t *ids,
			  struct error *err);
