/* SPDX-License-Identifier: MIT */
/* Makes each window in one pass over the inodes, which keeps the lowest addresses after the previous window, so memory
 * is bounded by one window. */
#include "verify/plan.h"

#include <errno.h>
#include <sys/stat.h>

#include "image/chunk_walk.h"
#include "image/inode.h"
#include "image/sums/checksum.h"
#include "verify/damage.h"

#define SHARD_LOG 20u /* shards take turns by this many bytes */

static const struct lowest_kind plan_kind = {
	.size = sizeof(struct item),
	.compare = item_compare,
	.merge = item_merge,
};

int plan_open(const struct plan_setup *setup, struct plan *ret, struct error *err)
{
	struct plan plan = { .setup = *setup, .window.kind = &plan_kind };
	int r = lowest_reserve(&plan.window, lowest_share(setup->index->shape.chunk_count), err);

	if (r == 0)
		*ret = plan;
	return r;
}

void plan_close(struct plan *plan)
{
	lowest_free(&plan->window);
	*plan = (struct plan){ 0 };
}

static bool plan_is_selected(const struct plan *plan, uint64_t address)
{
	const struct plan_share *share = plan->setup.share;
	const uint64_t key[2] = { share->seed, address };

	if ((address >> SHARD_LOG) % share->shard_count != share->shard)
		return false;
	return share->sample >= 1 ||
	       (double)checksum_64(key, sizeof(key)) < share->sample * 18446744073709551616.0;
}

/* Returns whether the chunk lies in the index, or in the version's segments: in the last run that begins at or before
 * it, or in that and runs that adjoin it. */
static bool plan_is_in_place(const struct plan *plan, const struct chunk *chunk)
{
	const struct extent_list *segments = plan->setup.segments;
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

static uint64_t plan_row(const struct plan *plan, const struct chunk *chunk)
{
	struct block_sums_row row;

	if (chunk->codec != DSFS_CODEC_RAW || chunk_is_inline(chunk) ||
	    !block_sums_find(plan->setup.block_sums, chunk->number, &row))
		return 0;
	return 1 + row.page * DSFS_BLOCK + row.offset;
}

/* Adds a chunk, unless an earlier window had it. A malformed record is damage, which the first pass alone reports. */
static void plan_add(struct plan *plan, struct chunk_walk *walk)
{
	struct item item = { .chunk = walk->chunk, .ordinal = walk->inode.ordinal, .position = walk->position,
			     .shared = 1 };

	if (!walk->damage.code && !plan_is_in_place(plan, &item.chunk))
		error_set(&walk->damage, -EBADMSG, "its place is outside the segments of its version");
	if (walk->damage.code) {
		if (!plan->has_last)
			damage_add(plan->setup.damage, &item, &walk->damage);
		return;
	}
	item.row = plan_row(plan, &item.chunk);
	plan->counts.selected += !plan->has_last;
	if (!plan->has_last || item_compare(&item, &plan->last) > 0)
		lowest_add(&plan->window, &item);
}

static void plan_count(void *argument, const struct inode *inode)
{
	struct plan_counts *counts = argument;

	counts->directories += S_ISDIR(inode->mode);
	counts->symlinks += S_ISLNK(inode->mode);
	counts->files += S_ISREG(inode->mode);
	counts->content_bytes += S_ISREG(inode->mode) ? inode->size : 0;
}

static int plan_pass(struct plan *plan, struct error *err)
{
	struct chunk_walk walk = { .index = plan->setup.index,
				   .each = plan->has_last ? NULL : plan_count,
				   .argument = &plan->counts };
	int r;

	while ((r = chunk_walk_next(&walk, err)) > 0) {
		if (walk.damage.code || (!chunk_is_hole(&walk.chunk) && plan_is_selected(plan, walk.chunk.address)))
			plan_add(plan, &walk);
		else if (chunk_is_hole(&walk.chunk) && !plan->has_last)
			plan->counts.holes += walk.run;
	}
	return r;
}

static void plan_mark_again(struct plan *plan)
{
	const struct item *before = plan->has_last ? &plan->last : NULL;
	struct item *items = plan->window.items;

	for (size_t i = 0; i < plan->window.count; before = &items[i++])
		items[i].again = before && item_compare_bytes(before, &items[i]) == 0;
}

int plan_next(struct plan *plan, struct error *err)
{
	int r;

	if (plan->has_last && !plan->window.is_cut)
		return 0;
	lowest_begin(&plan->window);
	r = plan_pass(plan, err);
	if (r < 0)
		return r;
	lowest_sort(&plan->window);
	plan_mark_again(plan);
	plan->has_last = true;
	if (!plan->window.count)
		return 0;
	plan->last = ((const struct item *)plan->window.items)[plan->window.count - 1];
	return 1;
}
