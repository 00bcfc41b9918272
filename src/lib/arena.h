/* SPDX-License-Identifier: MIT */
/* Memory for results, given back all at once. In a forked child what was read stays readable, and reads take memory of
 * the child's own. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "datasetfs/datasetfs.h"

/* size bytes, of which the first has an address that is a multiple of align (a power of two, at most 4096).
 * NULL: no memory. */
void *arena_take(struct dsfs_arena *arena, size_t size, size_t align);

struct arena_block;

/* The block in which these bytes lie stays as it is, whatever becomes of the arena: a device may write to it until
 * arena_let_go(), by any thread. */
struct arena_block *arena_hold(struct dsfs_arena *arena, const uint8_t *bytes);
void arena_let_go(struct arena_block *block); /* NULL does nothing */
