/* SPDX-License-Identifier: MIT */
/* Finds pieces in batches: a batch has the lowest addresses behind the last one, and takes one pass over the indexes,
 * with one in memory at a time. */
#include "volume/content_map.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "base/huge.h"
#include "base/lowest.h"
#include "base/program/interrupt.h"
#include "image/catalogue/block_sums.h"
#include "image/catalogue/index_load.h"
#include "image/catalogue/sections.h"
#include "image/chunk.h"
#include "image/chunk_walk.h"
#include "image/members/address.h"

#define MAP_STEP (UINT32_C(64) << 10) /* bytes of a section that share a sum */

struct map_section {
	const struct extent_list *extents;
	uint64_t length;   /* bytes that have sums; of block checksums the head */
	struct sum *sums;  /* of its steps, each in one extent; NULL: it could not be read */
	enum content_kind kind;
};

struct map_version {
	struct map_section index, source, head;
	struct error problem; /* code 0: none */
	bool is_known;        /* all bytes that it uses are among the pieces */
};

struct content_map {
	struct source *source;
	const struct catalogue *catalogue;
	struct map_version *versions;
	struct index *index;       /* of the version that was last looked at */
	uint32_t index_of;
	pthread_mutex_t lock;      /* guards the members below, and index */
	struct lowest batch;       /* of struct content_piece */
	uint64_t from, to;         /* the batch has all pieces that begin in this range */
};

/* --- sections --- */

static bool map_next(const struct map_section *section, struct extent_list_walk *walk)
{
	return extent_list_next(section->extents, section->length, MAP_STEP, walk);
}

/* Makes the sums of a section's steps, of the version's kind. bytes: the verified section. */
static int map_sum_section(struct map_section *section, uint32_t kind, const uint8_t *bytes, struct error *err)
{
	struct extent_list_walk walk = { 0 };
	uint64_t most = section->length / MAP_STEP + section->extents->count + 1;

	section->sums = calloc(most, sizeof(*section->sums));
	if (!section->sums)
		return error_no_memory(err);
	for (uint64_t i = 0; map_next(section, &walk); i++)
		section->sums[i] = sum_of(kind, bytes + walk.at, walk.step.length);
	return 0;
}

static int map_read_source(struct content_map *map, const struct version *version, struct map_section *section,
			   struct error *err)
{
	const struct sections_query query = { backing_of(map->source, &map->catalogue->members), section->extents,
					      section->length, version->source.sha256 };
	auto_free uint8_t *bytes = huge_alloc(section->length);
	int r;

	if (!bytes)
		return error_no_memory(err);
	r = sections_read(&query, bytes, err);
	if (r == -EBADMSG)
		error_set(err, r, "source section of version '%s': its SHA-256 is not the one in the catalogue",
			  version->label);
	return r < 0 ? r : map_sum_section(section, version->shape.chunk_sum, bytes, err);
}

/* Loads the version's index, which the map keeps. */
static int map_load_index(struct content_map *map, uint32_t number, struct error *err)
{
	struct index *index;
	int r;

	if (map->index && map->index_of == number)
		return 0;
	index_close(take_ptr(&map->index));
	r = index_load(backing_of(map->source, &map->catalogue->members), &map->catalogue->versions[number], &index,
		       err);
	if (r < 0)
		return r;
	map->index = index;
	map->index_of = number;
	return 0;
}

/* Keeps a failure as the version's problem, but returns failures that say nothing about its bytes. */
static int map_problem(struct map_version *version, const struct error *why, struct error *err)
{
	if (why->code == -ENOMEM || why->code == -EINTR)
		return error_pass(err, why->code, why);
	if (!version->problem.code)
		version->problem = *why;
	return 0;
}

static int map_open_index(struct content_map *map, uint32_t number, struct error *err)
{
	struct map_version *version = &map->versions[number];
	struct error why = { 0 };

	if (map_load_index(map, number, &why) < 0)
		return map_problem(version, &why, err);
	version->is_known = true;
	return map_sum_section(&version->index, map->index->shape.chunk_sum, map->index->map, err);
}

static int map_open_source(struct content_map *map, uint32_t number, struct error *err)
{
	struct map_version *version = &map->versions[number];
	struct error why = { 0 };

	if (!version->source.length ||
	    map_read_source(map, &map->catalogue->versions[number], &version->source, &why) == 0)
		return 0;
	return map_problem(version, &why, err);
}

static int map_open_sums(struct content_map *map, uint32_t number, struct error *err)
{
	struct map_version *version = &map->versions[number];
	struct block_sums *sums = NULL;
	struct error why = { 0 };
	int r = block_sums_load(backing_of(map->source, &map->catalogue->members), &map->catalogue->versions[number],
				&sums, &why);

	if (r < 0)
		return map_problem(version, &why, err);
	if (sums) {
		const void *bytes = block_sums_head(sums, &version->head.length);

		r = map_sum_section(&version->head, map->catalogue->versions[number].shape.chunk_sum, bytes, err);
	}
	block_sums_close(sums);
	return r;
}

static int map_open_version(struct content_map *map, uint32_t number, struct error *err)
{
	const struct version *from = &map->catalogue->versions[number];
	struct map_version *version = &map->versions[number];
	int r = interrupt_check(err);

	version->index = (struct map_section){ &from->index.extents, from->index.length, NULL, CONTENT_INDEX };
	version->source = (struct map_section){ &from->source.extents, from->source.length, NULL, CONTENT_SOURCE };
	version->head = (struct map_section){ &from->block_sums.extents, from->block_sums.length, NULL, CONTENT_HEAD };
	if (r == 0)
		r = map_open_index(map, number, err);
	if (r == 0)
		r = map_open_source(map, number, err);
	return r < 0 ? r : map_open_sums(map, number, err);
}

/* --- the order of pieces --- */

static int map_order(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

/* Compares by address, then by all that makes two pieces at one address different. */
static int map_compare(const void *a, const void *b)
{
	const struct content_piece *x = a, *y = b;
	int r = map_order(x->address, y->address);

	if (r == 0)
		r = map_order(x->stored, y->stored);
	if (r == 0)
		r = map_order(x->length, y->length);
	if (r == 0)
		r = map_order(x->codec, y->codec);
	if (r == 0)
		r = map_order(x->is_lost, y->is_lost);
	return r ? r : sum_compare(&x->sum, &y->sum);
}

/* Keeps the first of equal pieces: of the first version that has it, there the first. */
static void map_merge(void *kept, const void *other)
{
	const struct content_piece *x = kept, *y = other;

	if (y->version < x->version || (y->version == x->version && y->number < x->number))
		*(struct content_piece *)kept = *y;
}

static const struct lowest_kind map_kind = {
	.size = sizeof(struct content_piece),
	.compare = map_compare,
	.merge = map_merge,
};

/* --- opening --- */

static size_t map_share(const struct catalogue *catalogue)
{
	uint64_t records = 0;

	for (uint32_t i = 0; i < catalogue->version_count; i++)
		records += catalogue->versions[i].shape.chunk_count;
	return lowest_share(records);
}

int content_map_open(struct source *source, const struct catalogue *catalogue, size_t batch, struct content_map **ret,
		     struct error *err)
{
	struct content_map *map = calloc(1, sizeof(*map));
	int r = 0;

	if (!map)
		return error_no_memory(err);
	pthread_mutex_init(&map->lock, NULL);
	map->source = source;
	map->catalogue = catalogue;
	map->batch.kind = &map_kind;
	map->versions = calloc((size_t)catalogue->version_count + 1, sizeof(*map->versions));
	if (!map->versions)
		r = error_no_memory(err);
	if (r == 0)
		r = lowest_reserve(&map->batch, batch ? batch : map_share(catalogue), err);
	for (uint32_t i = 0; r == 0 && i < catalogue->version_count; i++)
		r = map_open_version(map, i, err);
	if (r < 0) {
		content_map_close(map);
		return r;
	}
	*ret = map;
	return 0;
}

void content_map_close(struct content_map *map)
{
	if (!map)
		return;
	for (uint32_t i = 0; map->versions && i < map->catalogue->version_count; i++) {
		free(map->versions[i].index.sums);
		free(map->versions[i].source.sums);
		free(map->versions[i].head.sums);
	}
	index_close(map->index);
	pthread_mutex_destroy(&map->lock);
	free(map->versions);
	lowest_free(&map->batch);
	free(map);
}

const struct error *content_map_problem(const struct content_map *map, uint32_t version)
{
	return map->versions[version].problem.code ? &map->versions[version].problem : NULL;
}

static bool map_is_known(const struct content_map *map, uint64_t address)
{
	for (uint32_t v = 0; v < map->catalogue->version_count; v++) {
		const struct extent_list *segments = &map->catalogue->versions[v].segments;

		for (uint32_t i = 0; !map->versions[v].is_known && i < segments->count; i++)
			if (address >= segments->items[i].address &&
			    address - segments->items[i].address < segments->items[i].length)
				return false;
	}
	return true;
}

bool content_map_is_known(struct content_map *map, uint64_t address)
{
	bool is_known;

	pthread_mutex_lock(&map->lock);
	is_known = map_is_known(map, address);
	pthread_mutex_unlock(&map->lock);
	return is_known;
}

/* --- a batch --- */

static void map_add(struct content_map *map, const struct content_piece *piece)
{
	if (piece->address >= map->from)
		lowest_add(&map->batch, piece);
}

static void map_add_section(struct content_map *map, uint32_t version, const struct map_section *section)
{
	const struct sum none = { .kind = 0 };
	struct extent_list_walk walk = { 0 };

	for (uint64_t i = 0; map_next(section, &walk); i++)
		map_add(map, &(struct content_piece){ .address = walk.step.address,
						      .sum = section->sums ? section->sums[i] : none,
						      .number = i,
						      .stored = (uint32_t)walk.step.length,
						      .length = (uint32_t)walk.step.length,
						      .version = (uint16_t)version,
						      .kind = (uint8_t)section->kind,
						      .codec = DSFS_CODEC_RAW,
						      .is_lost = !section->sums });
}

/* Notes that a version cannot be read any more, though it could when the map was opened. */
static int map_forget(struct map_version *version, const struct error *why, struct error *err)
{
	version->is_known = false;
	return map_problem(version, why, err);
}

static int map_add_pages(struct content_map *map, uint32_t number, struct error *err)
{
	struct block_sums *sums = NULL;
	struct error why = { 0 };
	int r;

	if (!map->versions[number].head.sums)
		return 0;
	r = block_sums_load(backing_of(map->source, &map->catalogue->members), &map->catalogue->versions[number],
			    &sums, &why);
	if (r < 0)
		return map_forget(&map->versions[number], &why, err);
	for (uint64_t page = 0; sums && page < block_sums_page_count(sums); page++)
		map_add(map, &(struct content_piece){ .address = block_sums_page_address(sums, page),
						      .sum = block_sums_page_sum(sums, page),
						      .number = page,
						      .stored = DSFS_BLOCK,
						      .length = DSFS_BLOCK,
						      .version = (uint16_t)number,
						      .kind = CONTENT_PAGE,
						      .codec = DSFS_CODEC_RAW });
	block_sums_close(sums);
	return 0;
}

/* Adds the chunks of a version. After an impossible record, it may use unknown bytes. */
static int map_add_chunks(struct content_map *map, uint32_t number, struct error *err)
{
	struct chunk_walk walk = { 0 };
	struct error why = { 0 };
	int r;

	if (!map->versions[number].index.sums)
		return 0;
	if (map_load_index(map, number, &why) < 0)
		return map_forget(&map->versions[number], &why, err);
	walk.index = map->index;
	while ((r = chunk_walk_next(&walk, err)) > 0) {
		const struct chunk *chunk = &walk.chunk;

		if (walk.damage.code)
			map->versions[number].is_known = false;
		else if (!chunk_is_hole(chunk) && !chunk_is_inline(chunk))
			map_add(map, &(struct content_piece){ .address = chunk->address,
							      .sum = chunk->sum,
							      .number = chunk->number,
							      .stored = chunk->stored,
							      .length = chunk->length,
							      .version = (uint16_t)number,
							      .kind = CONTENT_CHUNK,
							      .codec = chunk->codec });
	}
	return r;
}

static const struct content_piece *map_at(const struct content_map *map, size_t i)
{
	return (const struct content_piece *)map->batch.items + i;
}

/* Drops the pieces that begin where the last one does, if others may do so that are not in the batch. */
static void map_cut(struct content_map *map)
{
	struct lowest *batch = &map->batch;

	lowest_sort(batch);
	map->to = batch->is_cut ? map_at(map, batch->count - 1)->address : UINT64_MAX;
	while (batch->count && map_at(map, batch->count - 1)->address == map->to)
		batch->count--;
}

/* Loads the pieces at or after `from`. */
static int map_fill(struct content_map *map, uint64_t from, struct error *err)
{
	int r = 0;

	lowest_begin(&map->batch);
	map->from = from;
	for (uint32_t i = 0; r == 0 && i < map->catalogue->version_count; i++) {
		map_add_section(map, i, &map->versions[i].index);
		map_add_section(map, i, &map->versions[i].source);
		map_add_section(map, i, &map->versions[i].head);
		r = map_add_pages(map, i, err);
		if (r == 0)
			r = map_add_chunks(map, i, err);
	}
	map_cut(map);
	if (r < 0)
		map->to = map->from; /* no piece was loaded */
	return r;
}

/* --- queries --- */

static bool map_has(const struct content_map *map, uint64_t from, uint64_t end)
{
	return from >= map->from && end <= map->to;
}

/* Loads the pieces of this range, with a larger batch if many overlap. */
static int map_reach(struct content_map *map, uint64_t from, uint64_t end, struct error *err)
{
	int r = map_has(map, from, end) ? 0 : map_fill(map, from, err);

	while (r == 0 && !map_has(map, from, end)) {
		r = lowest_reserve(&map->batch, 2 * map->batch.most, err);
		if (r == 0)
			r = map_fill(map, from, err);
	}
	return r;
}

static size_t map_first(const struct content_map *map, uint64_t from)
{
	size_t low = 0, high = map->batch.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (map_at(map, middle)->address < from)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int map_put(struct content_pieces *pieces, const struct content_piece *piece, struct error *err)
{
	int r = grow(pieces->items, pieces->room, pieces->count + 1, err);

	if (r == 0)
		pieces->items[pieces->count++] = *piece;
	return r;
}

static int map_pieces(struct content_map *map, uint64_t address, uint64_t length, struct content_pieces *ret,
		      struct error *err)
{
	uint64_t offset = address_offset(address), end = address + length;
	uint64_t from = address - (offset < CONTENT_PIECE_MAX ? offset : CONTENT_PIECE_MAX);
	int r = map_reach(map, from, end, err);

	ret->count = 0;
	for (size_t i = map_first(map, from); r == 0 && i < map->batch.count && map_at(map, i)->address < end; i++)
		if (map_at(map, i)->address + map_at(map, i)->stored > address)
			r = map_put(ret, map_at(map, i), err);
	return r;
}

int content_map_pieces(struct content_map *map, uint64_t address, uint64_t length, struct content_pieces *ret,
		       struct error *err)
{
	int r;

	pthread_mutex_lock(&map->lock);
	r = map_pieces(map, address, length, ret, err);
	pthread_mutex_unlock(&map->lock);
	return r;
}

void content_map_free_pieces(struct content_pieces *pieces)
{
	free(pieces->items);
	*pieces = (struct content_pieces){ 0 };
}

/* --- a piece --- */

int content_map_check(const struct content_piece *piece, const void *stored, struct codec *codec, void *scratch,
		      struct error *err)
{
	struct chunk chunk = { .number = piece->number,
			       .address = piece->address,
			       .sum = piece->sum,
			       .stored = piece->stored,
			       .length = piece->length,
			       .codec = piece->codec };
	struct iovec content = { (void *)(uintptr_t)stored, piece->length };

	if (piece->is_lost)
		return error_set(err, -EBADMSG, "its section is damaged");
	return piece->codec == DSFS_CODEC_RAW ? chunk_verify(&chunk, &content, 1, err) :
						chunk_decode(&chunk, codec, stored, scratch, err);
}
