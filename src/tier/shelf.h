/* SPDX-License-Identifier: MIT */
/* A cache as its readers have it: the table that says where chunks may lie. The process that fills the cache has the
 * table to itself. To programs that read past its mount it is lent, with the file that has the chunks: they can change
 * neither, so they note for themselves which words were wrong and which slots they hit. Any thread may use a shelf. */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/error.h"
#include "tier/holdings.h"

struct shelf_lent;

struct shelf {
	struct holdings *table;
	_Atomic bool is_changed; /* the table is, since it was saved */
	struct shelf_lent *lent; /* NULL: the table is this process's */
};

/* Makes a shelf of another process's loan: the table, and the file with the chunks. Takes data on success; the caller
 * keeps table. -EBADMSG: it is no table. -EPROTO: data is no file of chunks. */
must_check int shelf_borrow(int table, int data, struct shelf **ret, struct error *err);
/* Frees a lent shelf. NULL does nothing. */
void shelf_return(struct shelf *shelf);
/* Returns the descriptor of the chunks of a lent shelf. */
int shelf_data(const struct shelf *shelf);
/* Lets the chunks of a lent shelf have the descriptor's number of a former one, which has none any more. False: the
 * number is something else by now. */
bool shelf_follow(struct shelf *shelf, struct shelf *former);

/* Returns the present time as slots have it. */
static inline uint32_t shelf_minute(void)
{
	return (uint32_t)(time(NULL) / 60);
}

/* Returns the bytes of all slots. */
static inline uint64_t shelf_size(const struct shelf *shelf)
{
	return (uint64_t)shelf->table->slots.count * SLOTS_SIZE;
}

/* True: the chunk with this key may be at *ret_block. */
bool shelf_find(const struct shelf *shelf, uint64_t key, uint64_t *ret_block);
/* It was not there. Of a lent shelf only this process knows. */
void shelf_forget(struct shelf *shelf, uint64_t key, uint64_t block);
/* A chunk of this slot was. */
void shelf_hit(struct shelf *shelf, uint32_t slot);
/* Takes the next hits that were noted in a lent shelf: a bit for each of count * 64 slots, from slot *at * 64 on. *at:
 * where the look begins, and then where the bits do. False: there are no more. */
bool shelf_take_hits(struct shelf *shelf, uint32_t *at, uint64_t *bits, unsigned count);
