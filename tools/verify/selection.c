/* SPDX-License-Identifier: MIT */
/* Makes each window in one pass over the inodes, which keeps the lowest addresses after the previous window, so memory
 * is bounded by one window. */
#include "verify/selection.h"

#include <errno.h>
#include <sys/stat.h>

#include "image/chunk_walk.h"
#include "image/inode.h"
#include "image/sums/checksum.h"
#include "verify/damage.h"

#define SHARD_LOG 20u /* shards take turns by this many bytes */

static const struct lowest_kind selection_kind = {
	.size = sizeof(struct item),
	.compare = item_compare,
	.merge = item_merge,
};

int selection_open(const struct selection_setup *setup, struct selection *ret, struct error *err)
{
	struct selection selection = { .setup = *setup, .window.kind = &selection_kind };
	int r = lowest_reserve(&selection.window, lowest_share(setup->index->shape.chunk_count), err);

	if (r == 0)
		*ret = selection;
	return r;
}

void selection_close(struct selection *selection)
{
	lowest_free(&selection->window);
	*selection = (struct selection){ 0 };
}

static bool selection_has(const struct selection *selection, uint64_t address)
{
	const struct selection_share *share = selection->setup.share;
	const uint64_t key[2] = { share->seed, address };

	if ((address >> SHARD_LOG) % share->shard_count != share->shard)
		return false;
	return share->sample >= 1 ||
	       (double)checksum_64(key, sizeof(key)) < share->sample * 18446744073709551616.0;
}

/* Returns whether the chunk lies in the index, or in the version's segments: in the last run that begins at or before
 * it, or in that and runs that adjoin it. */
static bool selection_is_in_place(const struct selection *selection, const struct chunk *chunk)
{
	const struct extent_list *segments = selection->setup.segments;
	const struct extent *runs = segments->items;
	uint64_t at = chunk->address, end = chunk->address + chunk->stored;
	size_t low = 0, high = segments->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (runs[middle].address <= at)
			low = middle + 1;
		else
			high = middle;
	}
	for (size_t i = low ? low - 1 : 0; i < segments->count && runs[i].address <= at && at < end; i++)
		if (runs[i].address + runs[i].length > at)
			at = runs[i].address + runs[i].length;
	return at >= end || chunk_is_inline(chunk);
}

static uint64_t selection_row(const struct selection *selection, const struct chunk *chunk)
{
	struct block_sums_row row;

	if (chunk->codec != DSFS_CODEC_RAW || chunk_is_inline(chunk) ||
	    !block_sums_find(selection->setup.block_sums, chunk->number, &row))
		return 0;
	return 1 + row.page * DSFS_BLOCK + row.offset;
}

/* Adds a chunk, unless an earlier window had it. A malformed record is damage, which the first pass alone reports. */
static void selection_add(struct selection *selection, struct chunk_walk *walk)
{
	struct item item = { .chunk = walk->chunk, .ordinal = walk->inode.ordinal, .position = walk->position,
			     .shared = 1 };

	if (!walk->damage.code && !selection_is_in_place(selection, &item.chunk))
		error_set(&walk->damage, -EBADMSG, "its place is outside the segments of its version");
	if (walk->damage.code) {
		if (!selection->has_last)
			damage_add(selection->setup.damage, &item, &walk->damage);
		return;
	}
	item.row = selection_row(selection, &item.chunk);
	selection->counts.selected += !selection->has_last;
	if (!selection->has_last || item_compare(&item, &selection->last) > 0)
		lowest_add(&selection->window, &item);
}

static void selection_count(void *argument, const struct inode *inode)
{
	struct selection_counts *counts = argument;

	counts->directories += S_ISDIR(inode->mode);
	counts->symlinks += S_ISLNK(inode->mode);
	counts->files += S_ISREG(inode->mode);
	counts->content_bytes += S_ISREG(inode->mode) ? inode->size : 0;
}

static int selection_pass(struct selection *selection, struct error *err)
{
	struct chunk_walk walk = { .index = selection->setup.index,
				   .each = selection->has_last ? NULL : selection_count,
				   .argument = &selection->counts };
	int r;

	while ((r = chunk_walk_next(&walk, err)) > 0) {
		if (walk.damage.code || (!chunk_is_hole(&walk.chunk) && selection_has(selection, walk.chunk.address)))
			selection_add(selection, &walk);
		else if (chunk_is_hole(&walk.chunk) && !selection->has_last)
			selection->counts.holes += walk.run;
	}
	return r;
}

static void selection_mark_again(struct selection *selection)
{
	const struct item *before = selection->has_last ? &selection->last : NULL;
	struct item *items = selection->window.items;

	for (size_t i = 0; i < selection->window.count; before = &items[i++])
		items[i].again = before && item_compare_bytes(before, &items[i]) == 0;
}

int selection_next(struct selection *selection, struct error *err)
{
	int r;

	if (selection->has_last && !selection->window.is_cut)
		return 0;
	lowest_begin(&selection->window);
	r = selection_pass(selection, err);
	if (r < 0)
		return r;
	lowest_sort(&selection->window);
	selection_mark_again(selection);
	selection->has_last = true;
	if (!selection->window.count)
		return 0;
	selection->last = ((const struct item *)selection->window.items)[selection->window.count - 1];
	return 1;
}
