/* SPDX-License-Identifier: MIT */
/* A first pass over all indexes counts live blocks, so that what versions share counts once; a second one, over those
 * of the versions concerned, finds what is to move. */
#include "volume/survey.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "image/address.h"
#include "image/index.h"
#include "volume/stretch.h"

#define SURVEY_GAIN      8u /* at least that part of what is emptied: else it would be done again and again */
#define SURVEY_CATALOGUE (UINT64_C(64) << 10) /* room that is left for the catalogue */

struct survey_candidate {
	uint64_t segment, live, total; /* blocks */
};

/* --- what is alive --- */

struct survey_pass {
	struct survey *survey;
	struct survey_version *version;
};

static void survey_add_live(void *argument, uint64_t offset, uint64_t length)
{
	const struct survey_pass *pass = argument;
	uint64_t first = offset / DSFS_BLOCK;

	if (length)
		bits_set(&pass->survey->live, first, (offset + length - 1) / DSFS_BLOCK - first + 1);
	survey_mark(&pass->version->segments, pass->survey->segment, offset, length);
}

static int survey_walk(struct survey_pass *pass, const struct version *version,
		       void (*each)(void *argument, uint64_t offset, uint64_t length), struct error *err)
{
	struct index *index;
	int r;

	r = index_load(pass->survey->source, version, &index, err);
	if (r < 0)
		return r;
	r = stretch_walk(index, each, pass, err);
	index_close(index);
	return r;
}

static int survey_version(struct survey *survey, uint32_t number, struct error *err)
{
	const struct version *version = &survey->catalogue->versions[number];
	struct survey_pass pass = { survey, &survey->versions[number] };
	int r;

	r = bits_open(&pass.version->segments, survey->victims.count, err);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < version->index.count; i++)
		survey_add_live(&pass, address_offset(version->index.items[i].address), version->index.items[i].length);
	survey_add_live(&pass, address_offset(version->source.address), version->source.length);
	survey_add_live(&pass, address_offset(version->fine.address), version->fine.length);
	return survey_walk(&pass, version, survey_add_live, err);
}

int survey_open(struct source *source, const struct superblock *super, const struct catalogue *catalogue,
		struct survey *ret, struct error *err)
{
	struct survey survey = { .source = source, .super = super, .catalogue = catalogue };
	uint64_t size = source_size(source, 0);
	int r;

	survey.segment = UINT64_C(1) << super->segment_log;
	survey.version_count = catalogue->version_count;
	survey.versions = calloc(catalogue->version_count + 1, sizeof(*survey.versions));
	r = survey.versions ? 0 : error_set(err, -ENOMEM, "out of memory");
	if (r == 0)
		r = bits_open(&survey.live, round_up(size, DSFS_BLOCK) / DSFS_BLOCK, err);
	if (r == 0)
		r = bits_open(&survey.victims, round_up(size, survey.segment) / survey.segment, err);
	for (uint32_t v = 0; r == 0 && v < survey.version_count; v++)
		r = survey_version(&survey, v, err);
	if (r < 0) {
		survey_close(&survey);
		return r;
	}
	*ret = survey;
	return 0;
}

void survey_close(struct survey *survey)
{
	for (uint32_t v = 0; survey->versions && v < survey->version_count; v++)
		bits_close(&survey->versions[v].segments);
	free(survey->versions);
	bits_close(&survey->live);
	bits_close(&survey->victims);
	bits_close(&survey->moving);
	bits_close(&survey->inside);
	*survey = (struct survey){ 0 };
}

/* --- which segments --- */

static void survey_mark_list(struct bits *segments, uint64_t segment, const struct extent_list *list)
{
	for (uint32_t i = 0; i < list->count; i++)
		survey_mark(segments, segment, address_offset(list->items[i].address), list->items[i].length);
}

static int survey_compare(const void *a, const void *b)
{
	const struct survey_candidate *x = a, *y = b;

	if (x->live != y->live)
		return x->live < y->live ? -1 : 1;
	return (x->segment > y->segment) - (x->segment < y->segment);
}

/* The ring, and what lies behind the end of the volume, is no room that could be gained. */
static struct survey_candidate survey_measure(const struct survey *survey, uint64_t segment)
{
	uint64_t start = segment * survey->segment, end = start + survey->segment;
	uint64_t size = round_down(survey->super->member_size, DSFS_BLOCK);

	if (start < DSFS_DATA_AT)
		start = DSFS_DATA_AT;
	if (end > size)
		end = size;
	if (start >= end)
		return (struct survey_candidate){ .segment = segment };
	return (struct survey_candidate){
		.segment = segment,
		.live = bits_sum(&survey->live, start / DSFS_BLOCK, (end - start) / DSFS_BLOCK),
		.total = (end - start) / DSFS_BLOCK,
	};
}

/* The segment with the tail is being filled: what is behind the tail is free already. */
static int survey_candidates(const struct survey *survey, unsigned below, struct survey_candidate **ret,
			     size_t *ret_count, struct error *err)
{
	uint64_t tail = address_offset(survey->catalogue->tail);
	struct survey_candidate *candidates = calloc(survey->victims.count + 1, sizeof(*candidates));
	struct bits pinned = { 0 };
	size_t count = 0;
	int r;

	r = candidates ? bits_open(&pinned, survey->victims.count, err) : error_set(err, -ENOMEM, "out of memory");
	if (r < 0) {
		free(candidates);
		return r;
	}
	for (uint32_t v = 0; v < survey->version_count; v++)
		survey_mark_list(&pinned, survey->segment, &survey->catalogue->versions[v].segments);
	for (uint64_t s = bits_next(&pinned, 0, true); s < pinned.count; s = bits_next(&pinned, s + 1, true)) {
		candidates[count] = survey_measure(survey, s);
		if (candidates[count].live * 100 < candidates[count].total * below &&
		    (!tail || s != tail / survey->segment))
			count++;
	}
	bits_close(&pinned);
	qsort(candidates, count, sizeof(*candidates), survey_compare);
	*ret = candidates;
	*ret_count = count;
	return 0;
}

/* Bytes that moving what lies in the segment takes; chunk records of a version are written anew once. */
static uint64_t survey_cost(struct survey *survey, const struct survey_candidate *candidate)
{
	uint64_t cost = candidate->live * DSFS_BLOCK;

	for (uint32_t v = 0; v < survey->version_count; v++) {
		const struct index_shape *shape = &survey->catalogue->versions[v].shape;

		if (survey->versions[v].is_affected || !bits_get(&survey->versions[v].segments, candidate->segment))
			continue;
		survey->versions[v].is_affected = true;
		cost += round_up(shape->chunk_count * sizeof(struct dsfs_chunk), DSFS_BLOCK);
	}
	return cost;
}

/* How many of the candidates give the most; *ret_needed is what the first one takes. */
static size_t survey_best(struct survey *survey, const struct survey_candidate *candidates, size_t count, uint64_t room,
			  uint64_t *ret_needed)
{
	uint64_t cost = SURVEY_CATALOGUE, total = 0, gain = 0;
	size_t best = 0;

	*ret_needed = 0;
	for (size_t i = 0; i < count; i++) {
		cost += survey_cost(survey, &candidates[i]);
		total += candidates[i].total * DSFS_BLOCK;
		if (i == 0)
			*ret_needed = cost;
		if (cost > room)
			break;
		if (total > cost && total - cost > gain && total - cost >= total / SURVEY_GAIN) {
			gain = total - cost;
			best = i + 1;
		}
	}
	return best;
}

static bool survey_lists_victim(const struct survey *survey, const struct version *version)
{
	bool found = false;

	for (uint32_t i = 0; i < version->segments.count && !found; i++)
		found = survey_touches(&survey->victims, survey->segment,
				       address_offset(version->segments.items[i].address),
				       version->segments.items[i].length);
	return found;
}

static void survey_take(struct survey *survey, const struct survey_candidate *candidates, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		bits_set(&survey->victims, candidates[i].segment, 1);
		survey->dead_bytes += (candidates[i].total - candidates[i].live) * DSFS_BLOCK;
	}
	survey->victim_count = count;
	for (uint32_t v = 0; v < survey->version_count; v++)
		survey->versions[v].is_affected = survey_lists_victim(survey, &survey->catalogue->versions[v]);
}

/* --- what lies in them --- */

static void survey_add_moving(void *argument, uint64_t offset, uint64_t length)
{
	const struct survey_pass *pass = argument;
	struct survey *survey = pass->survey;
	uint64_t first = offset / DSFS_BLOCK, last = (offset + length - 1) / DSFS_BLOCK;

	if (!survey_touches(&survey->victims, survey->segment, offset, length))
		return;
	pass->version->is_moved = true;
	bits_set(&survey->moving, first, last - first + 1);
	if (last > first + 1)
		bits_set(&survey->inside, first + 1, last - first - 1);
}

static int survey_find_moving(struct survey *survey, struct error *err)
{
	int r = 0;

	for (uint32_t v = 0; r == 0 && v < survey->version_count; v++) {
		const struct version *version = &survey->catalogue->versions[v];
		struct survey_pass pass = { survey, &survey->versions[v] };

		if (!pass.version->is_affected)
			continue;
		pass.version->is_moved = survey_touches(&survey->victims, survey->segment,
							address_offset(version->fine.address), version->fine.length);
		r = survey_walk(&pass, version, survey_add_moving, err);
	}
	return r;
}

int survey_choose(struct survey *survey, unsigned below, uint64_t room, struct error *err)
{
	auto_free struct survey_candidate *candidates = NULL;
	uint64_t blocks = survey->live.count, needed;
	size_t count, best;
	int r;

	r = survey_candidates(survey, below, &candidates, &count, err);
	if (r < 0)
		return r;
	best = survey_best(survey, candidates, count, room, &needed);
	if (!best && needed > room)
		return error_set(err, -ENOSPC,
				 "volume is full: emptying a segment takes %" PRIu64 " bytes of free space, %" PRIu64
				 " are free",
				 needed, room);
	survey_take(survey, candidates, best);
	bits_close(&survey->live);
	r = bits_open(&survey->moving, blocks, err);
	if (r == 0)
		r = bits_open(&survey->inside, blocks, err);
	return r < 0 ? r : survey_find_moving(survey, err);
}
