/* SPDX-License-Identifier: MIT */
/* A first pass over all indexes counts live blocks, so that what versions share counts once. A second pass, over the
 * versions concerned, finds what has to move. */
#include "volume/victims.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "image/address.h"
#include "image/index.h"
#include "image/index_load.h"
#include "volume/live_extents.h"

#define VICTIMS_GAIN      8u /* at least that part of what is emptied: else it would be done again and again */
#define VICTIMS_CATALOGUE (UINT64_C(64) << 10) /* room that is left for the catalogue */

struct victims_candidate {
	uint64_t segment, live, total; /* blocks */
};

/* --- what is alive --- */

struct victims_pass {
	struct victims *victims;
	struct victims_version *version;
};

static void victims_add_live(void *argument, uint64_t offset, uint64_t length)
{
	const struct victims_pass *pass = argument;
	uint64_t first = offset / DSFS_BLOCK;

	if (length)
		bits_set(&pass->victims->live, first, (offset + length - 1) / DSFS_BLOCK - first + 1);
	victims_mark(&pass->version->segments, pass->victims->segment, offset, length);
}

static int victims_walk(struct victims_pass *pass, const struct version *version,
			void (*each)(void *argument, uint64_t offset, uint64_t length), struct error *err)
{
	struct index *index;
	int r;

	r = index_load(pass->victims->source, version, &pass->victims->catalogue->members, &index, err);
	if (r < 0)
		return r;
	r = live_extents_walk(index, each, pass, err);
	index_close(index);
	return r;
}

static void victims_add_live_list(struct victims_pass *pass, const struct extent_list *list)
{
	for (uint32_t i = 0; i < list->count; i++)
		victims_add_live(pass, address_offset(list->items[i].address), list->items[i].length);
}

static int victims_version(struct victims *victims, uint32_t number, struct error *err)
{
	const struct version *version = &victims->catalogue->versions[number];
	struct victims_pass pass = { victims, &victims->versions[number] };
	int r;

	r = bits_open(&pass.version->segments, victims->chosen.count, err);
	if (r < 0)
		return r;
	victims_add_live_list(&pass, &version->index);
	victims_add_live_list(&pass, &version->source.extents);
	victims_add_live_list(&pass, &version->block_sums.extents);
	return victims_walk(&pass, version, victims_add_live, err);
}

int victims_open(struct source *source, const struct superblock *super, const struct catalogue *catalogue,
		 struct victims *ret, struct error *err)
{
	struct victims victims = { .source = source, .super = super, .catalogue = catalogue };
	uint64_t size = source_size(source, 0);
	int r;

	victims.segment = UINT64_C(1) << super->segment_log;
	victims.version_count = catalogue->version_count;
	victims.versions = calloc(catalogue->version_count + 1, sizeof(*victims.versions));
	r = victims.versions ? 0 : error_set(err, -ENOMEM, "out of memory");
	if (r == 0)
		r = bits_open(&victims.live, round_up(size, DSFS_BLOCK) / DSFS_BLOCK, err);
	if (r == 0)
		r = bits_open(&victims.chosen, round_up(size, victims.segment) / victims.segment, err);
	for (uint32_t v = 0; r == 0 && v < victims.version_count; v++)
		r = victims_version(&victims, v, err);
	if (r < 0) {
		victims_close(&victims);
		return r;
	}
	*ret = victims;
	return 0;
}

void victims_close(struct victims *victims)
{
	for (uint32_t v = 0; victims->versions && v < victims->version_count; v++)
		bits_close(&victims->versions[v].segments);
	free(victims->versions);
	bits_close(&victims->live);
	bits_close(&victims->chosen);
	bits_close(&victims->moving);
	bits_close(&victims->inside);
	*victims = (struct victims){ 0 };
}

/* --- which segments --- */

static void victims_mark_list(struct bits *segments, uint64_t segment, const struct extent_list *list)
{
	for (uint32_t i = 0; i < list->count; i++)
		victims_mark(segments, segment, address_offset(list->items[i].address), list->items[i].length);
}

static int victims_compare(const void *a, const void *b)
{
	const struct victims_candidate *x = a, *y = b;

	if (x->live != y->live)
		return x->live < y->live ? -1 : 1;
	return (x->segment > y->segment) - (x->segment < y->segment);
}

/* The ring, and what lies behind the end of the volume, is no room that could be gained. */
static struct victims_candidate victims_measure(const struct victims *victims, uint64_t segment)
{
	uint64_t start = segment * victims->segment, end = start + victims->segment;
	uint64_t size = round_down(victims->super->member_size, DSFS_BLOCK);

	if (start < DSFS_DATA_AT)
		start = DSFS_DATA_AT;
	if (end > size)
		end = size;
	if (start >= end)
		return (struct victims_candidate){ .segment = segment };
	return (struct victims_candidate){
		.segment = segment,
		.live = bits_sum(&victims->live, start / DSFS_BLOCK, (end - start) / DSFS_BLOCK),
		.total = (end - start) / DSFS_BLOCK,
	};
}

/* The segment with the tail is being filled: what is behind the tail is free already. */
static int victims_candidates(const struct victims *victims, unsigned below, struct victims_candidate **ret,
			      size_t *ret_count, struct error *err)
{
	uint64_t tail = address_offset(victims->catalogue->tail);
	struct victims_candidate *candidates = calloc(victims->chosen.count + 1, sizeof(*candidates));
	struct bits pinned = { 0 };
	size_t count = 0;
	int r;

	r = candidates ? bits_open(&pinned, victims->chosen.count, err) : error_set(err, -ENOMEM, "out of memory");
	if (r < 0) {
		free(candidates);
		return r;
	}
	for (uint32_t v = 0; v < victims->version_count; v++)
		victims_mark_list(&pinned, victims->segment, &victims->catalogue->versions[v].segments);
	for (uint64_t s = bits_next(&pinned, 0, true); s < pinned.count; s = bits_next(&pinned, s + 1, true)) {
		candidates[count] = victims_measure(victims, s);
		if (candidates[count].live * 100 < candidates[count].total * below &&
		    (!tail || s != tail / victims->segment))
			count++;
	}
	bits_close(&pinned);
	qsort(candidates, count, sizeof(*candidates), victims_compare);
	*ret = candidates;
	*ret_count = count;
	return 0;
}

/* Bytes that moving what lies in the segment takes; chunk records of a version are written anew once. */
static uint64_t victims_cost(struct victims *victims, const struct victims_candidate *candidate)
{
	uint64_t cost = candidate->live * DSFS_BLOCK;

	for (uint32_t v = 0; v < victims->version_count; v++) {
		const struct index_shape *shape = &victims->catalogue->versions[v].shape;

		if (victims->versions[v].is_affected || !bits_get(&victims->versions[v].segments, candidate->segment))
			continue;
		victims->versions[v].is_affected = true;
		cost += round_up(shape->chunk_count * sizeof(struct dsfs_chunk), DSFS_BLOCK);
	}
	return cost;
}

/* How many of the candidates give the most; *ret_needed is what the first one takes. */
static size_t victims_best(struct victims *victims, const struct victims_candidate *candidates, size_t count,
			   uint64_t room, uint64_t *ret_needed)
{
	uint64_t cost = VICTIMS_CATALOGUE, total = 0, gain = 0;
	size_t best = 0;

	*ret_needed = 0;
	for (size_t i = 0; i < count; i++) {
		cost += victims_cost(victims, &candidates[i]);
		total += candidates[i].total * DSFS_BLOCK;
		if (i == 0)
			*ret_needed = cost;
		if (cost > room)
			break;
		if (total > cost && total - cost > gain && total - cost >= total / VICTIMS_GAIN) {
			gain = total - cost;
			best = i + 1;
		}
	}
	return best;
}

static bool victims_lists_victim(const struct victims *victims, const struct version *version)
{
	bool found = false;

	for (uint32_t i = 0; i < version->segments.count && !found; i++)
		found = victims_touches(&victims->chosen, victims->segment,
					address_offset(version->segments.items[i].address),
					version->segments.items[i].length);
	return found;
}

static void victims_take(struct victims *victims, const struct victims_candidate *candidates, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		bits_set(&victims->chosen, candidates[i].segment, 1);
		victims->dead_bytes += (candidates[i].total - candidates[i].live) * DSFS_BLOCK;
	}
	victims->count = count;
	for (uint32_t v = 0; v < victims->version_count; v++)
		victims->versions[v].is_affected = victims_lists_victim(victims, &victims->catalogue->versions[v]);
}

/* --- what lies in them --- */

static void victims_add_moving(void *argument, uint64_t offset, uint64_t length)
{
	const struct victims_pass *pass = argument;
	struct victims *victims = pass->victims;
	uint64_t first = offset / DSFS_BLOCK, last = (offset + length - 1) / DSFS_BLOCK;

	if (!victims_touches(&victims->chosen, victims->segment, offset, length))
		return;
	pass->version->is_moved = true;
	bits_set(&victims->moving, first, last - first + 1);
	if (last > first + 1)
		bits_set(&victims->inside, first + 1, last - first - 1);
}

static int victims_find_moving(struct victims *victims, struct error *err)
{
	int r = 0;

	for (uint32_t v = 0; r == 0 && v < victims->version_count; v++) {
		const struct version *version = &victims->catalogue->versions[v];
		struct victims_pass pass = { victims, &victims->versions[v] };
		const struct extent_list *sums = &version->block_sums.extents;

		if (!pass.version->is_affected)
			continue;
		for (uint32_t i = 0; i < sums->count; i++)
			pass.version->is_moved |= victims_touches(&victims->chosen, victims->segment,
								  address_offset(sums->items[i].address),
								  sums->items[i].length);
		r = victims_walk(&pass, version, victims_add_moving, err);
	}
	return r;
}

int victims_choose(struct victims *victims, unsigned below, uint64_t room, struct error *err)
{
	auto_free struct victims_candidate *candidates = NULL;
	uint64_t blocks = victims->live.count, needed;
	size_t count, best;
	int r;

	r = victims_candidates(victims, below, &candidates, &count, err);
	if (r < 0)
		return r;
	best = victims_best(victims, candidates, count, room, &needed);
	if (!best && needed > room)
		return error_set(err, -ENOSPC,
				 "volume is full: emptying a segment takes %" PRIu64 " bytes of free space, %" PRIu64
				 " are free",
				 needed, room);
	victims_take(victims, candidates, best);
	bits_close(&victims->live);
	r = bits_open(&victims->moving, blocks, err);
	if (r == 0)
		r = bits_open(&victims->inside, blocks, err);
	return r < 0 ? r : victims_find_moving(victims, err);
}
