/* SPDX-License-Identifier: MIT */
/* Makes each window in one pass over the inodes, which keeps the lowest addresses after the previous window, so memory
 * is bounded by one window. The window grows with the index, so that the number of passes does not. */
#include "verify/plan.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "image/inode.h"
#include "image/members/address.h"
#include "image/sums/checksum.h"
#include "verify/damage.h"

#define SHARD_LOG 20u                 /* shards take turns by this many bytes */

int plan_open(const struct index *index, const struct block_sums *block_sums, const struct version *version,
	      const struct plan_share *share, struct damage_list *damage, struct plan *ret, struct error *err)
{
	struct plan plan = {
		.index = index, .block_sums = block_sums, .segments = version->segments, .share = *share,
		.damage = damage, .window = plan_window(index->shape.chunk_count)
	};

	plan.items = malloc(2 * plan.window * sizeof(*plan.items));
	if (!plan.items)
		return error_no_memory(err);
	*ret = plan;
	return 0;
}

void plan_close(struct plan *plan)
{
	free(plan->items);
	*plan = (struct plan){ 0 };
}

static bool plan_is_selected(const struct plan *plan, uint64_t address)
{
	const uint64_t key[2] = { plan->share.seed, address };

	if ((address >> SHARD_LOG) % plan->share.shard_count != plan->share.shard)
		return false;
	return plan->share.sample >= 1 ||
	       (double)checksum_64(key, sizeof(key)) < plan->share.sample * 18446744073709551616.0;
}

/* Returns whether the chunk lies in the version's segments: in the last run that begins at or before it, or in that and
 * runs that adjoin it. */
static bool plan_is_in_segments(const struct plan *plan, const struct chunk *chunk)
{
	const struct extent *runs = plan->segments.items;
	uint64_t at = chunk->address, end = chunk->address + chunk->stored;
	size_t low = 0, high = plan->segments.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (runs[middle].address <= at)
			low = middle + 1;
		else
			high = middle;
	}
	for (size_t i = low ? low - 1 : 0; i < plan->segments.count && runs[i].address <= at && at < end; i++)
		if (runs[i].address + runs[i].length > at)
			at = runs[i].address + runs[i].length;
	return at >= end;
}

static bool plan_is_wanted(const struct plan *plan, const struct item *item)
{
	if (plan->has_last && item_compare(item, &plan->last) <= 0)
		return false;
	return !plan->has_limit || item_compare(item, &plan->limit) <= 0;
}

static void plan_mark_again(struct plan *plan)
{
	const struct item *before = plan->has_last ? &plan->last : NULL;

	for (size_t i = 0; i < plan->count; before = &plan->items[i++])
		plan->items[i].again = before && item_compare_bytes(before, &plan->items[i]) == 0;
}

/* Sorts the items, and merges those with the same bytes and sums. */
static void plan_merge(struct plan *plan)
{
	size_t kept = 0;

	qsort(plan->items, plan->count, sizeof(*plan->items), item_compare_uses);
	for (size_t i = 0; i < plan->count; i++) {
		if (kept && item_compare(&plan->items[kept - 1], &plan->items[i]) == 0)
			plan->items[kept - 1].shared += plan->items[i].shared;
		else
			plan->items[kept++] = plan->items[i];
	}
	plan->count = kept;
}

static void plan_cut(struct plan *plan)
{
	plan_merge(plan);
	if (plan->count <= plan->window)
		return;
	plan->count = plan->window;
	plan->limit = plan->items[plan->window - 1];
	plan->has_limit = true;
}

static void plan_add(struct plan *plan, const struct item *item)
{
	if (!plan_is_wanted(plan, item))
		return;
	if (plan->count == 2 * plan->window) {
		plan_cut(plan);
		if (!plan_is_wanted(plan, item))
			return;
	}
	plan->items[plan->count++] = *item;
}

static uint64_t plan_row(const struct plan *plan, const struct chunk *chunk)
{
	struct block_sums_row row;

	if (chunk->codec != DSFS_CODEC_RAW || chunk_is_inline(chunk) ||
	    !block_sums_find(plan->block_sums, chunk->number, &row))
		return 0;
	return 1 + row.page * DSFS_BLOCK + row.offset;
}

/* Adds the chunk at this position of the file, and returns how many chunks its record stands for. A malformed record is
 * damage, which the first pass alone reports. */
static uint64_t plan_add_chunk(struct plan *plan, const struct inode *inode, uint64_t position)
{
	struct item item = { .ordinal = inode->ordinal, .position = position, .shared = 1 };
	struct error why = { 0 };
	uint64_t run = 1;
	int r;

	r = chunk_get_run(plan->index, inode, position, &item.chunk, &run, &why);
	if (r == 0 && chunk_is_hole(&item.chunk)) {
		plan->counts.holes += plan->has_last ? 0 : run;
		return run;
	}
	if (r == 0 && !plan_is_selected(plan, item.chunk.address))
		return 1;
	if (r == 0 && !chunk_is_inline(&item.chunk) && !plan_is_in_segments(plan, &item.chunk))
		r = error_set(&why, -EBADMSG, "its place is outside the segments of its version");
	if (r == 0)
		item.row = plan_row(plan, &item.chunk);
	if (r == 0)
		plan_add(plan, &item);
	else if (!plan->has_last)
		damage_add(plan->damage, &item, &why);
	plan->counts.selected += r == 0 && !plan->has_last;
	return 1;
}

static void plan_count_inode(struct plan *plan, const struct inode *inode)
{
	plan->counts.directories += S_ISDIR(inode->mode);
	plan->counts.symlinks += S_ISLNK(inode->mode);
	plan->counts.files += S_ISREG(inode->mode);
	if (S_ISREG(inode->mode))
		plan->counts.content_bytes += inode->size;
}

static int plan_pass(struct plan *plan, struct error *err)
{
	struct inode inode;
	uint64_t chunks;
	int r;

	for (uint64_t ordinal = INODE_ROOT; ordinal <= plan->index->shape.inode_count; ordinal++) {
		r = inode_get(plan->index, ordinal, &inode, err);
		if (r < 0)
			return r;
		if (!plan->has_last)
			plan_count_inode(plan, &inode);
		chunks = S_ISREG(inode.mode) ? inode_chunk_count(plan->index, &inode) : 0;
		for (uint64_t i = 0; i < chunks;)
			i += plan_add_chunk(plan, &inode, i);
	}
	return 0;
}

int plan_next(struct plan *plan, struct error *err)
{
	int r;

	if (plan->has_last && !plan->has_limit)
		return 0;
	plan->count = 0;
	plan->has_limit = false;
	r = plan_pass(plan, err);
	if (r < 0)
		return r;
	plan_cut(plan);
	plan_mark_again(plan);
	plan->has_last = true;
	if (!plan->count)
		return 0;
	plan->last = plan->items[plan->count - 1];
	return 1;
}
