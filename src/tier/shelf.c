/* SPDX-License-Identifier: MIT */
/* A borrower has its wrong words in a map of its own, as they are in the lent one: once the owner puts the chunk
 * elsewhere, it is found again. */
#include "tier/shelf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/same.h"

#define SHELF_WRONG 8192u /* buckets for words that were wrong: 512 KiB, of which untouched pages take no memory */

struct shelf_lent {
	struct shelf shelf; /* must be first */
	struct holdings table;
	_Atomic int data;
	struct stat file; /* of the data: the program may give the number to something else */
	_Atomic bool is_lost; /* it did */
	_Atomic bool has_wrong;
	struct map wrong;
	_Atomic uint64_t *hits; /* a bit for each slot */
};

/* ---- lent ---- */

static uint32_t shelf_words(const struct holdings *table)
{
	return table->slots.count / 64 + 1;
}

static int shelf_check_data(int data, struct shelf_lent *lent, struct error *err)
{
	int flags = fcntl(data, F_GETFL);

	if (flags < 0 || fstat(data, &lent->file) < 0)
		return error_errno(err, "the chunks");
	if (!S_ISREG(lent->file.st_mode) || (flags & O_ACCMODE) != O_RDONLY)
		return error_set(err, -EPROTO, "the chunks are no regular file that is open for reading alone");
	return 0;
}

static void shelf_free(struct shelf_lent *lent)
{
	holdings_close(&lent->table);
	free((void *)lent->wrong.words);
	free((void *)lent->hits);
	free(lent);
}

int shelf_borrow(int table, int data, struct shelf **ret, struct error *err)
{
	struct shelf_lent *lent = calloc(1, sizeof(*lent));
	int r = lent ? shelf_check_data(data, lent, err) : error_no_memory(err);

	if (r == 0)
		r = holdings_borrow(table, &lent->table, err);
	if (r == 0) {
		lent->wrong = (struct map){ .words = calloc(1, map_bytes(SHELF_WRONG)), .buckets = SHELF_WRONG };
		lent->hits = calloc(shelf_words(&lent->table), sizeof(*lent->hits));
		if (!lent->wrong.words || !lent->hits)
			r = error_no_memory(err);
	}
	if (r < 0) {
		if (lent)
			shelf_free(lent);
		return r;
	}
	atomic_store(&lent->data, data);
	lent->shelf.table = &lent->table;
	lent->shelf.lent = lent;
	*ret = &lent->shelf;
	return 0;
}

static bool shelf_is_there(const struct shelf_lent *lent)
{
	return same_fd(atomic_load(&lent->data), &lent->file);
}

void shelf_return(struct shelf *shelf)
{
	struct shelf_lent *lent = shelf ? shelf->lent : NULL;

	if (!lent)
		return;
	if (shelf_is_there(lent))
		close(atomic_load(&lent->data));
	shelf_free(lent);
}

int shelf_data(const struct shelf *shelf)
{
	return atomic_load(&shelf->lent->data);
}

bool shelf_follow(struct shelf *shelf, struct shelf *former)
{
	int own = shelf_data(shelf), number = shelf_data(former);

	if (!shelf_is_there(former->lent) || dup3(own, number, O_CLOEXEC) < 0)
		return false;
	atomic_store(&former->lent->data, -1);
	atomic_store(&shelf->lent->data, number);
	close(own);
	return true;
}

bool shelf_take_hits(struct shelf *shelf, uint32_t *at, uint64_t *bits, unsigned count)
{
	struct shelf_lent *lent = shelf->lent;
	uint32_t words = shelf_words(&lent->table), first = *at;

	while (first < words && !atomic_load_explicit(&lent->hits[first], memory_order_relaxed))
		first++;
	if (first >= words)
		return false;
	for (uint32_t i = 0; i < count; i++)
		bits[i] = first + i < words ? atomic_exchange(&lent->hits[first + i], 0) : 0;
	*at = first;
	return true;
}

/* ---- both ---- */

bool shelf_find(const struct shelf *shelf, uint64_t key, uint64_t *ret_block)
{
	const struct shelf_lent *lent = shelf->lent;

	if (!map_find(&shelf->table->map, key, ret_block))
		return false;
	return !lent || !(atomic_load_explicit(&lent->is_lost, memory_order_relaxed) ||
			  (atomic_load_explicit(&lent->has_wrong, memory_order_relaxed) &&
			   map_has(&lent->wrong, key, *ret_block)));
}

void shelf_forget(struct shelf *shelf, uint64_t key, uint64_t block)
{
	struct shelf_lent *lent = shelf->lent;

	if (!lent) {
		map_clear(&shelf->table->map, key, block);
		atomic_store_explicit(&shelf->is_changed, true, memory_order_relaxed);
		return;
	}
	if (!shelf_is_there(lent))
		atomic_store(&lent->is_lost, true);
	if (map_put(&lent->wrong, key, block))
		atomic_store(&lent->has_wrong, true);
}

static void shelf_note_hit(struct shelf_lent *lent, uint32_t slot)
{
	_Atomic uint64_t *word = &lent->hits[slot / 64];
	uint64_t bit = UINT64_C(1) << slot % 64;

	if (!(atomic_load_explicit(word, memory_order_relaxed) & bit))
		atomic_fetch_or_explicit(word, bit, memory_order_relaxed);
}

void shelf_hit(struct shelf *shelf, uint32_t slot)
{
	if (shelf->lent)
		shelf_note_hit(shelf->lent, slot);
	else
		slots_hit(&shelf->table->slots, slot, shelf_minute());
}
