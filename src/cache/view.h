/* SPDX-License-Identifier: MIT */
/* A cache as its readers have it: the table that says where a chunk may lie. Stored bytes lie there, which the
 * reader checks by the chunk's own sum as if they came from the volume: anything may be at a place. No call waits for a
 * device.
 *
 * The process that fills the cache has the table to itself. To programs that read past its mount it is lent, with the
 * file that has the chunks: they can change neither, so they note for themselves which words were wrong and which slots
 * they hit. Any thread may use a view. */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/error.h"
#include "cache/chunk_table.h"
#include "image/chunk.h"
#include "image/members/address.h"

struct view_lent;

struct view {
	struct chunk_table *table;
	_Atomic bool is_changed; /* the table is, since it was saved */
	struct view_lent *lent;  /* NULL: the table is this process's */
};

/* Makes a view of another process's loan: the table, and the file with the chunks. Takes data on success; the caller
 * keeps table. -EBADMSG: it is no table. -EPROTO: data is no file of chunks. */
must_check int view_borrow(int table, int data, struct view **ret, struct error *err);
/* Frees a lent view. NULL does nothing. */
void view_return(struct view *view);
/* Returns the descriptor of the chunks of a lent view. */
int view_data(const struct view *view);
/* Lets the chunks of a lent view have the descriptor's number of a former one, which has none any more. False: the
 * number is something else by now. */
bool view_follow(struct view *view, struct view *former);

/* Returns the present time as slots have it. */
static inline uint32_t view_minute(void)
{
	return (uint32_t)(time(NULL) / 60);
}

/* Returns the bytes of all slots. */
static inline uint64_t view_size(const struct view *view)
{
	return (uint64_t)view->table->slots.count * SLOTS_SIZE;
}

/* How far behind a block the chunk begins, on the volume as in the cache. */
static inline uint32_t view_phase(const struct chunk *chunk)
{
	return address_offset(chunk->address) % CHUNK_MAP_BLOCK;
}

/* True: the chunk may be at *ret_place of the data. That is as far behind a block as on the volume. */
bool view_find(const struct view *view, const struct chunk *chunk, uint64_t *ret_place);
/* The chunk was not there, or cannot be read. Of a lent view only this process knows. */
void view_forget(struct view *view, const struct chunk *chunk, uint64_t place);
/* A chunk at this place was there and was wanted: it stays. */
void view_hit(struct view *view, uint64_t place);
/* Takes the next hits that were noted in a lent view: a bit for each of count * 64 slots, from slot *at * 64 on. *at:
 * where the look begins, and then where the bits do. False: there are no more. */
bool view_take_hits(struct view *view, uint32_t *at, uint64_t *bits, unsigned count);
