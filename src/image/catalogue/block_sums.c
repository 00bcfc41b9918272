/* SPDX-License-Identifier: MIT */
/* Finds a row in the bitmap: the number of bits set before a chunk's bit is the number of its row. */
#include "image/catalogue/block_sums.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/round.h"
#include "base/span.h"
#include "image/catalogue/sections.h"
#include "image/members/address.h"
#include "image/members/extent_map.h"

#define BLOCK_SUMS_STRIDE 8u /* words of the bitmap from one rank to the next */

struct block_sums {
	struct block_sums_layout layout;
	struct extent_map extents;
	uint64_t chunk_count;
	uint8_t *head;
	const dsfs_le64 *words; /* of the bitmap */
	const dsfs_le64 *sums;  /* of the pages */
	uint64_t *ranks;   /* bits set before every BLOCK_SUMS_STRIDE-th word */
};

void block_sums_layout(uint32_t kind, uint32_t chunk_log, uint64_t chunk_count, uint64_t row_count,
		       struct block_sums_layout *ret)
{
	struct block_sums_layout layout = { .row_bytes = sum_blocks_size(kind, UINT64_C(1) << chunk_log) };

	layout.page_count = round_up(row_count * layout.row_bytes, DSFS_BLOCK) / DSFS_BLOCK;
	layout.bits = sizeof(struct dsfs_fine);
	layout.sums = layout.bits + round_up(chunk_count, 64) / 8;
	layout.head = round_up(layout.sums + layout.page_count * sizeof(dsfs_le64), DSFS_BLOCK);
	layout.length = layout.head + layout.page_count * DSFS_BLOCK;
	*ret = layout;
}

/* --- the head --- */

/* Checks the counts, from which every later offset follows. */
static int block_sums_check_counts(const struct dsfs_fine *disk, const struct version *version,
				   struct block_sums_layout *ret, struct error *err)
{
	uint64_t chunks = dsfs_le64_get(disk->chunk_count), rows = dsfs_le64_get(disk->row_count);
	int r = sum_check_kind(version->shape.chunk_sum, version->label, err);

	if (r < 0)
		return r;
	if (memcmp(disk->magic, DSFS_FINE_MAGIC, sizeof(disk->magic)) != 0)
		return error_set(err, -EBADMSG, "block checksums: bad magic");
	if (chunks != version->shape.chunk_count || rows > chunks)
		return error_set(err, -EBADMSG,
				 "block checksums: %" PRIu64 " rows for %" PRIu64 " chunks, the version has %" PRIu64,
				 rows, chunks, version->shape.chunk_count);
	block_sums_layout(version->shape.chunk_sum, version->chunk_log, chunks, rows, ret);
	if (ret->length != version->block_sums.length)
		return error_set(err, -EBADMSG, "block checksums: %" PRIu64 " bytes, its parts need %" PRIu64,
				 version->block_sums.length, ret->length);
	return 0;
}

static int block_sums_count_bits(struct block_sums *block_sums, uint64_t expected, struct error *err)
{
	uint64_t words = round_up(block_sums->chunk_count, 64) / 64, rows = 0;

	block_sums->ranks = calloc(words / BLOCK_SUMS_STRIDE + 1, sizeof(*block_sums->ranks));
	if (!block_sums->ranks)
		return error_no_memory(err);
	for (uint64_t i = 0; i < words; i++) {
		if (i % BLOCK_SUMS_STRIDE == 0)
			block_sums->ranks[i / BLOCK_SUMS_STRIDE] = rows;
		rows += (uint64_t)__builtin_popcountll(dsfs_le64_get(block_sums->words[i]));
	}
	if (rows != expected)
		return error_set(err, -EBADMSG, "block checksums: %" PRIu64 " rows in the bitmap, expected %" PRIu64,
				 rows, expected);
	return 0;
}

int block_sums_open(uint8_t *head, uint64_t length, const struct version *version, struct block_sums **ret,
		    struct error *err)
{
	const struct dsfs_fine *disk = span_at((struct span){ head, length }, 0, sizeof(*disk));
	struct block_sums *block_sums;
	int r;

	if (!disk)
		return error_set(err, -EBADMSG, "block checksums: a head of %" PRIu64 " bytes", length);
	block_sums = calloc(1, sizeof(*block_sums));
	if (!block_sums)
		return error_no_memory(err);
	r = block_sums_check_counts(disk, version, &block_sums->layout, err);
	if (r == 0 && block_sums->layout.head > length)
		r = error_set(err, -EBADMSG, "block checksums: a head of %" PRIu64 " bytes", length);
	if (r == 0) {
		block_sums->chunk_count = version->shape.chunk_count;
		block_sums->words = (const dsfs_le64 *)(head + block_sums->layout.bits);
		block_sums->sums = (const dsfs_le64 *)(head + block_sums->layout.sums);
		r = block_sums_count_bits(block_sums, dsfs_le64_get(disk->row_count), err);
	}
	if (r == 0)
		r = extent_map_open(&version->block_sums.extents, &block_sums->extents, err);
	if (r < 0) {
		block_sums_close(block_sums);
		return r;
	}
	block_sums->head = head;
	*ret = block_sums;
	return 0;
}

void block_sums_close(struct block_sums *block_sums)
{
	if (!block_sums)
		return;
	free(block_sums->head);
	free(block_sums->ranks);
	extent_map_close(&block_sums->extents);
	free(block_sums);
}

/* Where the section, or its head, lies. */
struct block_sums_place {
	struct backing backing;
	const struct extent_list *extents;
};

/* Reads the head's first block from copy number turn; its counts give the length of the head. */
static int block_sums_look(const struct block_sums_place *place, const struct version *version, uint32_t turn,
			   struct block_sums_layout *ret, struct error *err)
{
	auto_free uint8_t *block = aligned_alloc(DSFS_BLOCK, DSFS_BLOCK);
	int r;

	if (!block)
		return error_no_memory(err);
	r = backing_read(place->backing, place->extents->items[0].address, turn, block, DSFS_BLOCK, err);
	return r < 0 ? r : block_sums_check_counts((const struct dsfs_fine *)block, version, ret, err);
}

static int block_sums_read_head(const struct block_sums_place *place, const struct version *version,
				const struct block_sums_layout *layout, uint8_t **ret, struct error *err)
{
	const struct sections_query query = { place->backing, place->extents, layout->head,
					      version->block_sums.sha256 };
	auto_free uint8_t *head = aligned_alloc(DSFS_BLOCK, layout->head);
	int r;

	if (!head)
		return error_no_memory(err);
	r = sections_read(&query, head, err);
	if (r == -EBADMSG)
		return error_set(err, -EBADMSG,
				 "block checksums of version '%s': the SHA-256 of their head is not the one in "
				 "the catalogue", version->label);
	if (r == 0)
		*ret = take_ptr(&head);
	return r;
}

/* Tries each copy's idea of the head's length, because a damaged copy may give a wrong one. */
static int block_sums_find_head(const struct block_sums_place *place, const struct version *version, uint8_t **ret,
				uint64_t *ret_length, struct error *err)
{
	uint64_t copies[DSFS_COPIES_MAX];
	struct block_sums_layout layout;
	uint32_t turns = backing_copies(place->backing, place->extents->items[0].address, copies);
	int r = -EBADMSG;

	for (uint32_t turn = 0; r == -EBADMSG && turn < turns; turn++) {
		r = block_sums_look(place, version, turn, &layout, err);
		if (r == 0)
			r = block_sums_read_head(place, version, &layout, ret, err);
	}
	if (r == 0)
		*ret_length = layout.head;
	return r;
}

static int block_sums_load_at(const struct block_sums_place *place, const struct version *version,
			      struct block_sums **ret, struct error *err)
{
	auto_free uint8_t *head = NULL;
	uint64_t length = 0;
	int r = block_sums_find_head(place, version, &head, &length, err);

	if (r == 0)
		r = block_sums_open(head, length, version, ret, err);
	if (r == 0)
		(void)take_ptr(&head);
	return r;
}

int block_sums_load(struct backing backing, const struct version *version, struct block_sums **ret, struct error *err)
{
	const struct block_sums_place place = { backing, &version->block_sums.extents };

	*ret = NULL;
	return version->block_sums.length ? block_sums_load_at(&place, version, ret, err) : 0;
}

int block_sums_load_copy(struct source *copy, uint64_t at, const struct version *version, struct block_sums **ret,
			 struct error *err)
{
	struct extent all = { at, version->block_sums.length };
	const struct extent_list extents = { &all, 1 };
	const struct block_sums_place place = { backing_of(copy, NULL), &extents };

	return block_sums_load_at(&place, version, ret, err);
}

/* --- rows --- */

bool block_sums_find(const struct block_sums *block_sums, uint64_t chunk, struct block_sums_row *ret)
{
	uint64_t word = chunk / 64, bit = UINT64_C(1) << chunk % 64, row, at;

	if (!block_sums || chunk >= block_sums->chunk_count || !(dsfs_le64_get(block_sums->words[word]) & bit))
		return false;
	row = block_sums->ranks[word / BLOCK_SUMS_STRIDE];
	for (uint64_t i = round_down(word, BLOCK_SUMS_STRIDE); i < word; i++)
		row += (uint64_t)__builtin_popcountll(dsfs_le64_get(block_sums->words[i]));
	row += (uint64_t)__builtin_popcountll(dsfs_le64_get(block_sums->words[word]) & (bit - 1));
	at = row * block_sums->layout.row_bytes;
	*ret = (struct block_sums_row){ at / DSFS_BLOCK, (uint32_t)(at % DSFS_BLOCK) };
	return true;
}

const void *block_sums_head(const struct block_sums *block_sums, uint64_t *ret_length)
{
	*ret_length = block_sums->layout.head;
	return block_sums->head;
}

uint64_t block_sums_page_count(const struct block_sums *block_sums)
{
	return block_sums->layout.page_count;
}

struct sum block_sums_page_sum(const struct block_sums *block_sums, uint64_t page)
{
	return sum_at(DSFS_SUM_XXH3_64, &block_sums->sums[page]);
}

uint64_t block_sums_page_address(const struct block_sums *block_sums, uint64_t page)
{
	return extent_map_address(&block_sums->extents, block_sums->layout.head + page * DSFS_BLOCK);
}

int block_sums_check_page(const struct block_sums *block_sums, uint64_t page, const void *bytes, struct error *err)
{
	struct sum expected = block_sums_page_sum(block_sums, page), sum = sum_of(expected.kind, bytes, DSFS_BLOCK);
	char is[SUM_TEXT_SIZE], should_be[SUM_TEXT_SIZE];

	if (sum_is_same(&sum, &expected))
		return 0;
	return error_set(err, -EBADMSG, "block checksums: page %" PRIu64 " has the sum %s, expected %s", page,
			 sum_text(&sum, is), sum_text(&expected, should_be));
}

uint64_t block_sums_memory(const struct block_sums *block_sums)
{
	uint64_t words;

	if (!block_sums)
		return 0;
	words = round_up(block_sums->chunk_count, 64) / 64;
	return block_sums->layout.head + words / BLOCK_SUMS_STRIDE * sizeof(*block_sums->ranks);
}

uint64_t block_sums_memory_most(const struct version *version)
{
	return version->block_sums.length ? version->block_sums.length / (DSFS_BLOCK / sizeof(dsfs_le64)) +
					      version->shape.chunk_count / 4 + 2 * DSFS_BLOCK :
				      0;
}

/* --- one thread's view --- */

struct block_sums_view {
	const struct block_sums *block_sums;
	struct source *source;
	uint64_t page; /* 1 + its number; 0: none */
	uint8_t *bytes;
};

int block_sums_view_new(const struct block_sums *block_sums, struct source *source, struct block_sums_view **ret,
			struct error *err)
{
	struct block_sums_view *view = calloc(1, sizeof(*view));

	if (view)
		view->bytes = aligned_alloc(DSFS_BLOCK, DSFS_BLOCK);
	if (!view || !view->bytes) {
		block_sums_view_free(view);
		return error_no_memory(err);
	}
	view->block_sums = block_sums;
	view->source = source;
	*ret = view;
	return 0;
}

void block_sums_view_free(struct block_sums_view *view)
{
	if (!view)
		return;
	free(view->bytes);
	free(view);
}

int block_sums_view_row(struct block_sums_view *view, uint64_t chunk, const uint8_t **ret, struct error *err)
{
	struct block_sums_row row;
	uint64_t address;
	int r;

	if (!block_sums_find(view->block_sums, chunk, &row))
		return 0;
	if (view->page != row.page + 1) {
		address = block_sums_page_address(view->block_sums, row.page);
		view->page = 0;
		r = source_read(view->source, address_member(address), address_offset(address), view->bytes,
				DSFS_BLOCK, err);
		if (r == 0)
			r = block_sums_check_page(view->block_sums, row.page, view->bytes, err);
		if (r < 0)
			return r;
		view->page = row.page + 1;
	}
	*ret = view->bytes + row.offset;
	return 1;
}
