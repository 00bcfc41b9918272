/* SPDX-License-Identifier: MIT */
/* An arena is a list of blocks that is filled from its beginning again after a reset. */
#include "lib/arena.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/huge.h"
#include "lib/forked.h"
#include "lib/reason.h"

#define ARENA_BLOCK ((size_t)2 << 20)
#define ARENA_MOST  ((size_t)64 << 20) /* bytes of a block at most; a larger result gets a block of its own size */

struct arena_block {
	struct arena_block *next;
	uint8_t *bytes;
	size_t size, used;
	_Atomic unsigned holders; /* the arena, and devices that may write to it */
};

struct dsfs_arena {
	struct arena_block *first, *filling; /* blocks behind the one that is being filled are empty */
	size_t next_size;
	uint64_t generation; /* of the process that writes to the blocks */
};

int dsfs_arena_new(struct dsfs_arena **ret)
{
	struct error *err = reason_begin();
	struct dsfs_arena *arena = calloc(1, sizeof(*arena));
	int r = forked_watch(err);

	if (r == 0 && !arena)
		r = error_no_memory(err);
	if (r < 0) {
		free(arena);
		return r;
	}
	arena->next_size = ARENA_BLOCK;
	arena->generation = forked_generation();
	*ret = arena;
	return 0;
}

/* Gives up the blocks of the parent in a forked child, which may still read earlier results in them. */
static void arena_adopt(struct dsfs_arena *arena)
{
	if (arena->generation == forked_generation())
		return;
	arena->first = arena->filling = NULL;
	arena->next_size = ARENA_BLOCK;
	arena->generation = forked_generation();
}

/* Empties a block for reuse, or marks it full while a device may still write to it. */
static void arena_rewind(struct arena_block *block)
{
	block->used = atomic_load(&block->holders) > 1 ? block->size : 0;
}

void arena_let_go(struct arena_block *block)
{
	if (!block || atomic_fetch_sub(&block->holders, 1) != 1)
		return;
	free(block->bytes);
	free(block);
}

struct arena_block *arena_hold(struct dsfs_arena *arena, const uint8_t *bytes)
{
	struct arena_block *block = arena->first;

	while ((uintptr_t)bytes - (uintptr_t)block->bytes >= block->size)
		block = block->next;
	atomic_fetch_add(&block->holders, 1);
	return block;
}

void dsfs_arena_reset(struct dsfs_arena *arena)
{
	arena_adopt(arena);
	arena->filling = arena->first;
	if (arena->first)
		arena_rewind(arena->first);
}

void dsfs_arena_free(struct dsfs_arena *arena)
{
	struct arena_block *block, *next;

	if (!arena)
		return;
	for (block = arena->first; block; block = next) {
		next = block->next;
		arena_let_go(block);
	}
	free(arena);
}

/* Adds an empty block behind the one that is being filled. */
static struct arena_block *arena_grow(struct dsfs_arena *arena, size_t size)
{
	struct arena_block *block = calloc(1, sizeof(*block));

	if (!block)
		return NULL;
	block->size = size > arena->next_size ? size : arena->next_size;
	atomic_store(&block->holders, 1);
	block->bytes = huge_alloc(block->size);
	if (!block->bytes) {
		free(block);
		return NULL;
	}
	if (arena->next_size < ARENA_MOST)
		arena->next_size *= 2;
	if (arena->filling) {
		block->next = arena->filling->next;
		arena->filling->next = block;
	} else {
		arena->first = block;
	}
	return block;
}

static void *arena_cut(struct arena_block *block, size_t size, size_t align)
{
	size_t at = (block->used + align - 1) & ~(align - 1);

	if (at > block->size || size > block->size - at)
		return NULL;
	block->used = at + size;
	return block->bytes + at;
}

void *arena_take(struct dsfs_arena *arena, size_t size, size_t align)
{
	struct arena_block *block;
	void *taken;

	arena_adopt(arena);
	for (block = arena->filling; block; block = block->next) {
		if (block != arena->filling)
			arena_rewind(block);
		arena->filling = block;
		taken = arena_cut(block, size, align);
		if (taken)
			return taken;
	}
	block = arena_grow(arena, size);
	if (!block)
		return NULL;
	arena->filling = block;
	return arena_cut(block, size, align);
}
