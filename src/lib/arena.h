/* SPDX-License-Identifier: MIT */
/* Owns the memory of read results, which is given back all at once. In a forked child earlier results stay readable,
 * and new ones take memory of the child's own. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "datasetfs/datasetfs.h"

/* Returns size bytes whose first address is a multiple of align (a power of two, at most 4096); NULL: no memory. */
void *arena_take(struct dsfs_arena *arena, size_t size, size_t align);

struct arena_block;

/* Keeps the block that has these bytes, even if the arena is reset or freed: a device may still write to it. The block
 * stays until arena_let_go(), which any thread may call. */
struct arena_block *arena_hold(struct dsfs_arena *arena, const uint8_t *bytes);
void arena_let_go(struct arena_block *block); /* NULL does nothing */
