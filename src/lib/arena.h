/* SPDX-License-Identifier: MIT */
/* Memory for results, given back all at once. It stays readable in a forked child, and is never written to there: what
 * a device writes to must be shared between them, or a fork in the middle of a read would tear it. */
#pragma once
#include <stddef.h>

#include "datasetfs/datasetfs.h"

/* size bytes, of which the first has an address that is a multiple of align (a power of two, at most 4096).
 * NULL: no memory. */
void *arena_take(struct dsfs_arena *arena, size_t size, size_t align);
