/* SPDX-License-Identifier: MIT */
/* A borrower has its wrong words in a map of its own, as they are in the lent one: once the owner puts the chunk
 * elsewhere, it is found again. */
#include "cache/view.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/same.h"

#define VIEW_WRONG 8192u /* buckets for words that were wrong: 512 KiB; untouched pages take no memory */

struct view_lent {
	struct view view; /* must be first */
	struct chunk_table table;
	_Atomic int data;
	struct stat file; /* of the data: the program may give the number to something else */
	_Atomic bool is_lost; /* it did */
	_Atomic bool has_wrong;
	struct chunk_map wrong;
	_Atomic uint64_t *hits; /* a bit for each slot */
};

/* ---- lent ---- */

static uint32_t view_words(const struct chunk_table *table)
{
	return table->slots.count / 64 + 1;
}

static int view_check_data(int data, struct view_lent *lent, struct error *err)
{
	int flags = fcntl(data, F_GETFL);

	if (flags < 0 || fstat(data, &lent->file) < 0)
		return error_errno(err, "the chunks");
	if (!S_ISREG(lent->file.st_mode) || (flags & O_ACCMODE) != O_RDONLY)
		return error_set(err, -EPROTO, "the chunks are no regular file that is open for reading alone");
	return 0;
}

static void view_free(struct view_lent *lent)
{
	chunk_table_close(&lent->table);
	free((void *)lent->wrong.words);
	free((void *)lent->hits);
	free(lent);
}

int view_borrow(int table, int data, struct view **ret, struct error *err)
{
	struct view_lent *lent = calloc(1, sizeof(*lent));
	int r = lent ? view_check_data(data, lent, err) : error_no_memory(err);

	if (r == 0)
		r = chunk_table_borrow(table, &lent->table, err);
	if (r == 0) {
		lent->wrong =
			(struct chunk_map){ .words = calloc(1, chunk_map_bytes(VIEW_WRONG)), .buckets = VIEW_WRONG };
		lent->hits = calloc(view_words(&lent->table), sizeof(*lent->hits));
		if (!lent->wrong.words || !lent->hits)
			r = error_no_memory(err);
	}
	if (r < 0) {
		if (lent)
			view_free(lent);
		return r;
	}
	atomic_store(&lent->data, data);
	lent->view.table = &lent->table;
	lent->view.lent = lent;
	*ret = &lent->view;
	return 0;
}

static bool view_is_there(const struct view_lent *lent)
{
	return same_fd(atomic_load(&lent->data), &lent->file);
}

void view_return(struct view *view)
{
	struct view_lent *lent = view ? view->lent : NULL;

	if (!lent)
		return;
	if (view_is_there(lent))
		close(atomic_load(&lent->data));
	view_free(lent);
}

int view_data(const struct view *view)
{
	return atomic_load(&view->lent->data);
}

bool view_follow(struct view *view, struct view *former)
{
	int own = view_data(view), number = view_data(former);

	if (!view_is_there(former->lent) || dup3(own, number, O_CLOEXEC) < 0)
		return false;
	atomic_store(&former->lent->data, -1);
	atomic_store(&view->lent->data, number);
	close(own);
	return true;
}

bool view_take_hits(struct view *view, uint32_t *at, uint64_t *bits, unsigned count)
{
	struct view_lent *lent = view->lent;
	uint32_t words = view_words(&lent->table), first = *at;

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

static bool view_is_wrong(const struct view_lent *lent, uint64_t key, uint64_t block)
{
	return atomic_load_explicit(&lent->is_lost, memory_order_relaxed) ||
	       (atomic_load_explicit(&lent->has_wrong, memory_order_relaxed) &&
		chunk_map_has(&lent->wrong, key, block));
}

bool view_find(const struct view *view, const struct chunk *chunk, uint64_t *ret_place)
{
	uint64_t key = chunk_map_key(chunk), block, place;

	if (!chunk_map_find(&view->table->map, key, &block) || (view->lent && view_is_wrong(view->lent, key, block)))
		return false;
	place = block * CHUNK_MAP_BLOCK + view_phase(chunk);
	if (place + chunk->stored > view_size(view))
		return false;
	*ret_place = place;
	return true;
}

void view_forget(struct view *view, const struct chunk *chunk, uint64_t place)
{
	struct view_lent *lent = view->lent;
	uint64_t key = chunk_map_key(chunk), block = place / CHUNK_MAP_BLOCK;

	if (!lent) {
		chunk_map_clear(&view->table->map, key, block);
		atomic_store_explicit(&view->is_changed, true, memory_order_relaxed);
		return;
	}
	if (!view_is_there(lent))
		atomic_store(&lent->is_lost, true);
	if (chunk_map_put(&lent->wrong, key, block))
		atomic_store(&lent->has_wrong, true);
}

static void view_note_hit(struct view_lent *lent, uint32_t slot)
{
	_Atomic uint64_t *word = &lent->hits[slot / 64];
	uint64_t bit = UINT64_C(1) << slot % 64;

	if (!(atomic_load_explicit(word, memory_order_relaxed) & bit))
		atomic_fetch_or_explicit(word, bit, memory_order_relaxed);
}

void view_hit(struct view *view, uint64_t place)
{
	uint32_t slot = (uint32_t)(place / SLOTS_SIZE);

	if (view->lent)
		view_note_hit(view->lent, slot);
	else
		slots_hit(&view->table->slots, slot, view_minute());
}
