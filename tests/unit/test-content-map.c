/* SPDX-License-Identifier: MIT */
/* Which bytes of a volume are content: chunks that versions share, sections, batches that are too small, damage. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "image/catalogue/block_sums.h"
#include "image/sums/checksum.h"
#include "image/sums/sha256.h"
#include "lib/check.h"
#include "lib/memory.h"
#include "lib/rows.h"
#include "lib/section.h"
#include "volume/content_map.h"

#define FILES    200u
#define DATA     DSFS_DATA_AT
#define STRIDE   700u       /* from one chunk to the next */
#define INDEX(v) (DATA + ((v) + 1) * (UINT64_C(1) << 20))
#define SUMS     (DATA + (UINT64_C(5) << 20))
#define SOURCE   (DATA + (UINT64_C(6) << 20))
#define SOURCE_LENGTH 200000u
#define SIZE     (DATA + (UINT64_C(8) << 20))

static struct memory memory;
static struct version versions[2];
static struct catalogue catalogue;
static uint8_t scratch[CONTENT_PIECE_MAX];

static uint64_t chunk_at(unsigned i)
{
	return DATA + i * STRIDE;
}

static uint32_t chunk_bytes(unsigned i)
{
	return 200 + i;
}

/* Every step-th file, so versions share chunks. */
static void make_version(struct version *ret, uint64_t sequence, unsigned step)
{
	static struct section section;
	uint64_t at = INDEX(sequence);
	char name[16];
	int fd;

	section_init(&section);
	for (unsigned i = 0; i < FILES; i += step) {
		uint64_t sum = checksum_64(memory.bytes + chunk_at(i), chunk_bytes(i));

		snprintf(name, sizeof(name), "f%03u", i);
		section_file(&section, 1, name, chunk_bytes(i),
			     section_chunk(&section, chunk_at(i), sum, chunk_bytes(i), DSFS_CODEC_RAW));
	}
	fd = section_write(&section, ret);
	ret->sequence = sequence;
	assert_int_equal(pread(fd, memory.bytes + at, ret->index.length, 0), ret->index.length);
	CHECK_OK(sha256_of(memory.bytes + at, ret->index.length, ret->index.sha256, &err));
	CHECK_OK(extent_list_add(&ret->index.extents, at, 4096, &err));
	CHECK_OK(extent_list_add(&ret->segments, 0, SIZE, &err));
	close(fd);
}

/* The index in two extents, with a gap. */
static void split_index(struct version *version)
{
	uint64_t at = version->index.extents.items[0].address, rest = version->index.length - 4096;

	memmove(memory.bytes + at + 8192, memory.bytes + at + 4096, rest);
	CHECK_OK(extent_list_add(&version->index.extents, at + 8192, rest, &err));
}

static void add_block_sums(struct version *version)
{
	static const uint8_t content[64] = { 1 };
	struct rows_chunk rows[] = { { 2, content, 64 }, { 3, content, 64 } };
	uint8_t *bytes = rows_section(version, SUMS, rows, 2);

	memcpy(memory.bytes + SUMS, bytes, version->block_sums.length);
	free(bytes);
}

static void add_source(struct version *version)
{
	for (unsigned i = 0; i < SOURCE_LENGTH; i++)
		memory.bytes[SOURCE + i] = (uint8_t)(i * 7);
	version->source.length = SOURCE_LENGTH;
	CHECK_OK(extent_list_add(&version->source.extents, SOURCE, SOURCE_LENGTH, &err));
	CHECK_OK(sha256_of(memory.bytes + SOURCE, SOURCE_LENGTH, version->source.sha256, &err));
}

static int setup(void **state)
{
	memory_init(&memory, SIZE);
	for (unsigned i = 0; i < FILES * STRIDE; i++)
		memory.bytes[DATA + i] = (uint8_t)(i * 2654435761u >> 11);
	make_version(&versions[0], 1, 1);
	make_version(&versions[1], 2, 3);
	split_index(&versions[0]);
	split_index(&versions[1]);
	add_block_sums(&versions[0]);
	add_source(&versions[1]);
	catalogue = (struct catalogue){ .versions = versions, .version_count = 2 };
	return 0;
}

static int teardown(void **state)
{
	version_free(&versions[0]);
	version_free(&versions[1]);
	memory_done(&memory);
	return 0;
}

static bool is_sound(const struct content_piece *piece)
{
	return content_map_check(piece, memory.bytes + piece->address, NULL, scratch, NULL) == 0;
}

struct found {
	unsigned kinds[CONTENT_PAGE + 1];
	unsigned wrong, all;
	uint64_t bytes;
};

/* All of the volume, in windows. A piece is counted where it begins. */
static struct found look(struct content_map *map, uint64_t window)
{
	struct content_pieces pieces = { 0 };
	struct found found = { 0 };
	uint64_t last = 0;

	for (uint64_t at = DATA; at < SIZE; at += window) {
		CHECK_OK(content_map_pieces(map, at, window, &pieces, &err));
		for (size_t i = 0; i < pieces.count; i++) {
			const struct content_piece *piece = &pieces.items[i];

			assert_true(piece->address < at + window && piece->address + piece->stored > at);
			if (piece->address < at)
				continue;
			assert_true(piece->address >= last);
			last = piece->address + piece->stored;
			found.kinds[piece->kind]++;
			found.wrong += !is_sound(piece);
			found.bytes += piece->stored;
			found.all++;
		}
	}
	content_map_free_pieces(&pieces);
	return found;
}

static struct found look_afresh(size_t batch, uint64_t window)
{
	struct content_map *map;
	struct found found;

	CHECK_OK(content_map_open(&memory.source, &catalogue, batch, &map, &err));
	found = look(map, window);
	content_map_close(map);
	return found;
}

static void check_all(const struct found *found)
{
	uint64_t bytes = versions[0].index.length + versions[1].index.length + SOURCE_LENGTH +
			 versions[0].block_sums.length;

	for (unsigned i = 0; i < FILES; i++)
		bytes += chunk_bytes(i);
	assert_int_equal(found->wrong, 0);
	assert_int_equal(found->kinds[CONTENT_CHUNK], FILES); /* those that both have come once */
	assert_int_equal(found->kinds[CONTENT_INDEX], 4);     /* an extent ends a step */
	assert_int_equal(found->kinds[CONTENT_SOURCE], 4);
	assert_int_equal(found->kinds[CONTENT_HEAD], 1);
	assert_int_equal(found->kinds[CONTENT_PAGE], 1);
	assert_int_equal(found->bytes, bytes);
}

static void test_everything_once(void **state)
{
	struct found found = look_afresh(0, 1u << 20);

	check_all(&found);
	found = look_afresh(0, 4096);
	check_all(&found);
}

/* A batch takes a pass of its own; one that is smaller than what lies in a window grows. */
static void test_small_batches(void **state)
{
	for (size_t batch = 1; batch < 300; batch += 13) {
		struct found found = look_afresh(batch, 8192);

		check_all(&found);
	}
}

static void test_backwards(void **state)
{
	struct content_pieces pieces = { 0 };
	struct content_map *map;

	CHECK_OK(content_map_open(&memory.source, &catalogue, 20, &map, &err));
	for (unsigned i = FILES; i--;) {
		CHECK_OK(content_map_pieces(map, chunk_at(i), 1, &pieces, &err));
		assert_int_equal(pieces.count, 1);
		assert_int_equal(pieces.items[0].address, chunk_at(i));
		assert_int_equal(pieces.items[0].version, 0);
		assert_int_equal(pieces.items[0].number, i);
	}
	content_map_free_pieces(&pieces);
	content_map_close(map);
}

static void test_damage_is_found(void **state)
{
	static const struct {
		uint64_t at;
	} flips[] = { { DATA + 5 }, { DATA + 199 * STRIDE + 3 }, { SUMS + 8192 - 1 } };

	for (unsigned i = 0; i < 3; i++) {
		struct content_map *map;

		CHECK_OK(content_map_open(&memory.source, &catalogue, 0, &map, &err));
		memory.bytes[flips[i].at] ^= 4;
		assert_int_equal(look(map, 1u << 20).wrong, 1);
		memory.bytes[flips[i].at] ^= 4;
		content_map_close(map);
	}
}

/* Of a section the sums are those of what was right when it was opened. */
static void test_damage_that_comes_later(void **state)
{
	struct content_map *map;

	CHECK_OK(content_map_open(&memory.source, &catalogue, 0, &map, &err));
	memory.bytes[SOURCE + 70000] ^= 1;
	memory.bytes[INDEX(2) + 9000] ^= 1;
	assert_true(content_map_is_known(map, DATA));
	assert_int_equal(look(map, 1u << 20).wrong, 2);
	assert_null(content_map_problem(map, 0));
	assert_non_null(content_map_problem(map, 1)); /* there is no other copy of its index */
	assert_false(content_map_is_known(map, DATA));
	memory.bytes[SOURCE + 70000] ^= 1;
	memory.bytes[INDEX(2) + 9000] ^= 1;
	content_map_close(map);
}

/* Its bytes cannot be judged, and neither can those that it may use. */
static void test_lost_index(void **state)
{
	struct content_map *map;
	struct found found;

	memory.bytes[INDEX(1) + 9000] ^= 1;
	CHECK_OK(content_map_open(&memory.source, &catalogue, 0, &map, &err));
	assert_non_null(content_map_problem(map, 0));
	assert_non_null(strstr(content_map_problem(map, 0)->reason, "SHA-256"));
	assert_null(content_map_problem(map, 1));
	assert_false(content_map_is_known(map, DATA));
	found = look(map, 1u << 20);
	assert_int_equal(found.kinds[CONTENT_CHUNK], (FILES + 2) / 3);
	assert_int_equal(found.kinds[CONTENT_INDEX], 4);
	assert_int_equal(found.wrong, 2);
	content_map_close(map);
	memory.bytes[INDEX(1) + 9000] ^= 1;
	CHECK_OK(content_map_open(&memory.source, &catalogue, 0, &map, &err));
	assert_true(content_map_is_known(map, DATA));
	content_map_close(map);
}

/* A source section or block checksums that are damaged hide nothing else: all of them counts as lost. */
static void test_lost_section(void **state)
{
	struct content_map *map;
	struct found found;

	memory.bytes[SOURCE + 70000] ^= 1;
	memory.bytes[SUMS + 20] ^= 1;
	CHECK_OK(content_map_open(&memory.source, &catalogue, 0, &map, &err));
	assert_non_null(content_map_problem(map, 0));
	assert_non_null(content_map_problem(map, 1));
	assert_true(content_map_is_known(map, SUMS));
	found = look(map, 1u << 20);
	assert_int_equal(found.kinds[CONTENT_CHUNK], FILES);
	assert_int_equal(found.wrong, 4 + 1);
	memory.bytes[SOURCE + 70000] ^= 1;
	memory.bytes[SUMS + 20] ^= 1;
	content_map_close(map);
}

CHECK_MAIN_WITH(setup, teardown, cmocka_unit_test(test_everything_once), cmocka_unit_test(test_small_batches),
		cmocka_unit_test(test_backwards), cmocka_unit_test(test_damage_is_found),
		cmocka_unit_test(test_damage_that_comes_later), cmocka_unit_test(test_lost_index),
		cmocka_unit_test(test_lost_section))
