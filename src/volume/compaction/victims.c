/* SPDX-License-Identifier: MIT */
/* Counts live blocks in a first pass over all indexes, so that shared blocks count once. A second pass, over the
 * affected versions, finds which blocks must move. */
#include "volume/compaction/victims.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/round.h"
#include "image/index.h"
#include "image/members/address.h"
#include "volume/compaction/live_extents.h"

#define VICTIMS_GAIN      8u /* least gain, as a part of the emptied bytes: with less it would never end */
#define VICTIMS_ANY       101u /* percent: however much is live */
#define VICTIMS_CATALOGUE (UINT64_C(64) << 10) /* bytes that are left for the catalogue */

struct victims_candidate {
	uint64_t segment, live, total; /* live and total: blocks */
};

/* --- live blocks --- */

struct victims_pass {
	struct victims *victims;
	struct victims_version *version;
};

static void victims_add_live(void *argument, uint64_t address, uint64_t length)
{
	const struct victims_pass *pass = argument;
	struct victims *victims = pass->victims;

	line_mark(&victims->line, &victims->live, DSFS_BLOCK, address, length);
	line_mark(&victims->line, &pass->version->segments, victims->line.segment, address, length);
}

static int victims_version(struct victims *victims, uint32_t number, struct error *err)
{
	const struct version *version = &victims->catalogue->versions[number];
	struct victims_pass pass = { victims, &victims->versions[number] };
	int r;

	r = bits_open(&pass.version->segments, victims->chosen.count, err);
	if (r < 0)
		return r;
	return live_extents_of_version(backing_of(victims->source, &victims->catalogue->members), version,
				       victims_add_live, &pass, err);
}

int victims_open(struct source *source, const struct superblock *super, const struct catalogue *catalogue,
		 struct victims *ret, struct error *err)
{
	struct victims victims = { .source = source, .super = super, .catalogue = catalogue };
	int r;

	victims.version_count = catalogue->version_count;
	victims.versions = calloc(catalogue->version_count + 1, sizeof(*victims.versions));
	r = victims.versions ? 0 : error_no_memory(err);
	if (r == 0)
		r = line_open(source, catalogue, UINT64_C(1) << super->segment_log, &victims.line, err);
	if (r == 0)
		r = bits_open(&victims.live, line_length(&victims.line) / DSFS_BLOCK, err);
	if (r == 0)
		r = bits_open(&victims.chosen, line_length(&victims.line) / victims.line.segment, err);
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
	line_close(&victims->line);
	bits_close(&victims->live);
	bits_close(&victims->chosen);
	bits_close(&victims->moving);
	bits_close(&victims->inside);
	*victims = (struct victims){ 0 };
}

/* --- choosing segments --- */

static void victims_mark_list(const struct line *line, struct bits *segments, const struct extent_list *list)
{
	for (uint32_t i = 0; i < list->count; i++)
		line_mark(line, segments, line->segment, list->items[i].address, list->items[i].length);
}

static int victims_compare(const void *a, const void *b)
{
	const struct victims_candidate *x = a, *y = b;

	if (x->live != y->live)
		return x->live < y->live ? -1 : 1;
	return (x->segment > y->segment) - (x->segment < y->segment);
}

/* Returns the part of a segment that could be gained: of a group the filled part, as the next publish uses the rest;
 * of an only member, nothing of the ring and behind the end of the volume. */
static struct extent victims_room(const struct victims *victims, uint64_t segment)
{
	uint64_t start = segment * victims->line.segment, end = start + victims->line.segment;
	uint64_t size = round_down(victims->super->member_size, DSFS_BLOCK);
	const struct member_group *group;

	group = members_group(&victims->catalogue->members, line_address(&victims->line, start));
	if (group)
		return (struct extent){ start, group->tail };
	if (start < DSFS_DATA_AT)
		start = DSFS_DATA_AT;
	if (end > size)
		end = size;
	return (struct extent){ start, start < end ? end - start : 0 };
}

static struct victims_candidate victims_measure(const struct victims *victims, uint64_t segment)
{
	struct extent room = victims_room(victims, segment);
	uint64_t blocks = round_up(room.length, DSFS_BLOCK) / DSFS_BLOCK;

	return (struct victims_candidate){
		.segment = segment,
		.live = bits_sum(&victims->live, room.address / DSFS_BLOCK, blocks),
		.total = blocks,
	};
}

/* Lists the segments of versions that are less than this percentage live, except the one that the next publish
 * continues; the emptiest first. */
static int victims_candidates(const struct victims *victims, unsigned below, struct victims_candidate **ret,
			      size_t *ret_count, struct error *err)
{
	uint64_t tail = address_offset(victims->catalogue->tail);
	struct victims_candidate *candidates = calloc(victims->chosen.count + 1, sizeof(*candidates));
	struct bits pinned = { 0 };
	size_t count = 0;
	int r;

	r = candidates ? bits_open(&pinned, victims->chosen.count, err) : error_no_memory(err);
	if (r < 0) {
		free(candidates);
		return r;
	}
	for (uint32_t v = 0; v < victims->version_count; v++)
		victims_mark_list(&victims->line, &pinned, &victims->catalogue->versions[v].segments);
	for (uint64_t s = bits_next(&pinned, 0, true); s < pinned.count; s = bits_next(&pinned, s + 1, true)) {
		candidates[count] = victims_measure(victims, s);
		if (candidates[count].live * 100 < candidates[count].total * below &&
		    (!tail || s != tail / victims->line.segment))
			count++;
	}
	bits_close(&pinned);
	qsort(candidates, count, sizeof(*candidates), victims_compare);
	*ret = candidates;
	*ret_count = count;
	return 0;
}

/* Returns the bytes that emptying the segment takes; chunk records and places of a version are
 * rewritten once. */
static uint64_t victims_cost(struct victims *victims, const struct victims_candidate *candidate)
{
	uint64_t cost = candidate->live * DSFS_BLOCK;

	for (uint32_t v = 0; v < victims->version_count; v++) {
		const struct index_shape *shape = &victims->catalogue->versions[v].shape;

		if (victims->versions[v].is_affected || !bits_get(&victims->versions[v].segments, candidate->segment))
			continue;
		victims->versions[v].is_affected = true;
		cost += round_up(shape->chunk_count * index_record_size(shape->chunk_sum), DSFS_BLOCK) +
			round_up(shape->places_count * sizeof(dsfs_le32), DSFS_BLOCK);
	}
	return cost;
}

/* Returns how many of the candidates gain most; *ret_needed: bytes that the first one takes. */
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
		found = victims_touches(&victims->line, &victims->chosen, version->segments.items[i].address,
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

/* --- blocks that move --- */

static void victims_add_moving(void *argument, uint64_t address, uint64_t length)
{
	const struct victims_pass *pass = argument;
	struct victims *victims = pass->victims;
	uint64_t at = line_at(&victims->line, address);
	uint64_t first = at / DSFS_BLOCK, last = (at + length - 1) / DSFS_BLOCK;

	if (!victims_touches(&victims->line, &victims->chosen, address, length))
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
			pass.version->is_moved |= victims_touches(&victims->line, &victims->chosen,
								  sums->items[i].address,
								  sums->items[i].length);
		r = live_extents_of_files(backing_of(victims->source, &victims->catalogue->members), version,
					  victims_add_moving, &pass, err);
	}
	return r;
}

static int victims_refuse(uint64_t needed, uint64_t room, struct error *err)
{
	return error_set(err, -ENOSPC, "emptying a segment takes %" PRIu64 " bytes of free space, %" PRIu64 " are free",
			 needed, room);
}

int victims_pick(struct victims *victims, unsigned below, uint64_t room, struct error *err)
{
	auto_free struct victims_candidate *candidates = NULL;
	size_t count, best;
	uint64_t needed;
	int r;

	r = victims_candidates(victims, below, &candidates, &count, err);
	if (r < 0)
		return r;
	best = victims_best(victims, candidates, count, room, &needed);
	if (!best && needed > room)
		return victims_refuse(needed, room, err);
	victims_take(victims, candidates, best);
	return 0;
}

static int victims_move(struct victims *victims, struct error *err)
{
	uint64_t blocks = victims->live.count;
	int r;

	bits_close(&victims->live);
	r = bits_open(&victims->moving, blocks, err);
	if (r == 0)
		r = bits_open(&victims->inside, blocks, err);
	return r < 0 ? r : victims_find_moving(victims, err);
}

int victims_choose(struct victims *victims, unsigned below, uint64_t room, struct error *err)
{
	int r = victims_pick(victims, below, room, err);

	return r < 0 ? r : victims_move(victims, err);
}

/* --- levelling --- */

/* Blocks, by member. */
struct victims_load {
	uint64_t live[DSFS_MEMBER_MAX + 1], share[DSFS_MEMBER_MAX + 1];
};

static uint32_t victims_member(const struct victims *victims, const struct victims_candidate *candidate)
{
	return address_member(line_address(&victims->line, candidate->segment * victims->line.segment));
}

static void victims_weigh(const struct victims *victims, const struct allocator *allocator,
			  const struct victims_candidate *candidates, size_t count, struct victims_load *ret)
{
	uint64_t live = 0, weight = 0;

	memset(ret, 0, sizeof(*ret));
	for (size_t i = 0; i < count; i++) {
		ret->live[victims_member(victims, &candidates[i])] += candidates[i].live;
		live += candidates[i].live;
	}
	for (uint32_t i = 0; i < allocator->lane_count; i++)
		weight += allocator->lanes[i].column_count ? allocator->lanes[i].weight : 0;
	for (uint32_t i = 0; weight && i < allocator->lane_count; i++)
		if (allocator->lanes[i].column_count)
			ret->share[i] = (uint64_t)((unsigned __int128)live * allocator->lanes[i].weight / weight);
}

/* Keeps those of members that have half a segment more than their share, in place at the beginning, as many as there is
 * room for. *ret_needed: bytes that the first one takes. */
static size_t victims_spare(struct victims *victims, struct victims_candidate *candidates, size_t count, uint64_t room,
			    struct victims_load *load, uint64_t *ret_needed)
{
	uint64_t cost = VICTIMS_CATALOGUE;
	size_t kept = 0;

	*ret_needed = 0;
	for (size_t i = 0; i < count; i++) {
		uint32_t member = victims_member(victims, &candidates[i]);

		if (!candidates[i].live || !load->share[member] ||
		    load->live[member] < load->share[member] + victims->line.segment / DSFS_BLOCK / 2)
			continue;
		cost += victims_cost(victims, &candidates[i]);
		if (!*ret_needed)
			*ret_needed = cost;
		if (cost > room)
			break;
		load->live[member] -= candidates[i].live;
		candidates[kept++] = candidates[i];
	}
	return kept;
}

int victims_level(struct victims *victims, struct allocator *allocator, uint64_t room, struct error *err)
{
	auto_free struct victims_candidate *candidates = NULL;
	struct victims_load load;
	uint64_t needed;
	size_t count, spare;
	int r = victims_candidates(victims, VICTIMS_ANY, &candidates, &count, err);

	if (r < 0)
		return r;
	victims_weigh(victims, allocator, candidates, count, &load);
	spare = victims_spare(victims, candidates, count, room, &load, &needed);
	if (!spare && needed)
		return victims_refuse(needed, room, err);
	victims_take(victims, candidates, spare);
	for (uint32_t i = 0; i < allocator->lane_count; i++)
		allocator->lanes[i].bytes = load.live[i] * DSFS_BLOCK;
	return victims_move(victims, err);
}
