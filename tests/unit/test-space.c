/* SPDX-License-Identifier: MIT */
/* Where the pieces of a version go: blocks, padding, and what is put into it. */
#include "datasetfs/format.h"
#include "lib/check.h"
#include "volume/space/space.h"

#define BLOCK UINT64_C(4096)

static struct space space;

/* An empty endless volume with a piece of 1.25 blocks and one of a block: padding of 0.75 blocks between them. */
static void begin(void)
{
	uint64_t offset;

	CHECK_OK(space_open(&space, NULL, NULL, 20, SPACE_ENDLESS, &err));
	assert_true(space_take(&space, BLOCK + BLOCK / 4, SPACE_BLOCK, &offset));
	assert_int_equal(offset, DSFS_DATA_AT);
	assert_true(space_take(&space, BLOCK, SPACE_BLOCK, &offset));
	assert_int_equal(offset, DSFS_DATA_AT + 2 * BLOCK);
}

static void expect(uint64_t length, enum space_align align, uint64_t offset)
{
	uint64_t found;

	assert_true(space_take(&space, length, align, &found));
	assert_int_equal(found - DSFS_DATA_AT, offset);
}

static void test_small_pieces_fill_padding(void **state)
{
	begin();
	expect(BLOCK / 2, SPACE_WHOLE, BLOCK + BLOCK / 4);
	expect(BLOCK / 2, SPACE_WHOLE, 3 * BLOCK); /* too long for what is left */
	expect(BLOCK / 4, SPACE_WHOLE, BLOCK + 3 * BLOCK / 4);
	expect(1, SPACE_WHOLE, 3 * BLOCK + BLOCK / 2); /* the padding is full */
	assert_int_equal(space_taken(&space), 4 * BLOCK);
	space_close(&space);
}

static void test_the_smallest_that_fits(void **state)
{
	begin();
	expect(BLOCK / 2, SPACE_BLOCK, 3 * BLOCK);
	expect(BLOCK, SPACE_BLOCK, 4 * BLOCK); /* padding of half a block in front of it */
	expect(BLOCK / 2, SPACE_WHOLE, 3 * BLOCK + BLOCK / 2);
	expect(3 * BLOCK / 4, SPACE_WHOLE, BLOCK + BLOCK / 4);
	space_close(&space);
}

static void test_only_small_pieces(void **state)
{
	begin();
	expect(16, SPACE_BLOCK, 3 * BLOCK);
	expect(16, SPACE_DENSE, 3 * BLOCK + 16);
	space_close(&space);
}

static void test_forgotten_padding(void **state)
{
	begin();
	space_forget_gaps(&space);
	expect(16, SPACE_WHOLE, 3 * BLOCK);
	space_close(&space);
}

/* Of more gaps than are kept the smallest are given up. */
static void test_many_gaps(void **state)
{
	begin();
	for (uint64_t i = 0; i < SPACE_GAPS; i++)
		expect(BLOCK - 100 - i, SPACE_BLOCK, (3 + i) * BLOCK);
	expect(BLOCK, SPACE_BLOCK, (3 + SPACE_GAPS) * BLOCK);
	expect(100, SPACE_WHOLE, 5 * BLOCK - 101); /* not the one of 100 bytes */
	space_close(&space);
}

/* Of a file all is free up to its end, of a device not what is kept for catalogues. */
static void test_inside(void **state)
{
	static const struct superblock super = { .member_size = 40 * BLOCK + DSFS_DATA_AT,
						 .segment_log = DSFS_SEGMENT_LOG_MIN,
						 .catalogue_address = DSFS_DATA_AT + 8 * BLOCK,
						 .catalogue_length = BLOCK + 1 };
	static const struct catalogue catalogue = { .tail = 0 };

	CHECK_OK(space_open_inside(&space, &catalogue, &super, super.member_size, &err));
	assert_int_equal(space_free(&space), 38 * BLOCK);
	space_close(&space);
	CHECK_OK(space_open_inside(&space, &catalogue, &super, DSFS_DATA_AT + 10 * BLOCK + 1, &err));
	assert_int_equal(space_free(&space), 8 * BLOCK);
	assert_int_equal(space.count, 1);
	space_close(&space);
	CHECK_OK(space_open_inside(&space, &catalogue, &super, 0, &err));
	assert_int_equal(space_free(&space), 38 * BLOCK - SPACE_RESERVE_MIN);
	space_close(&space);
}

/* Behind the tail a segment in use is free, up to the end of the file. */
static void test_inside_behind_the_tail(void **state)
{
	const uint64_t tail = DSFS_DATA_AT + 8 * BLOCK;
	const struct superblock super = { .member_size = tail,
					  .segment_log = DSFS_SEGMENT_LOG_MIN,
					  .catalogue_address = DSFS_DATA_AT + 2 * BLOCK,
					  .catalogue_length = BLOCK };
	struct extent segment = { DSFS_DATA_AT, UINT64_C(1) << DSFS_SEGMENT_LOG_MIN };
	struct version version = { .segments = { .items = &segment, .count = 1 } };
	const struct catalogue catalogue = { .tail = tail, .versions = &version, .version_count = 1 };

	CHECK_OK(space_open_inside(&space, &catalogue, &super, tail + 4 * BLOCK + 1, &err));
	assert_int_equal(space_free(&space), 4 * BLOCK);
	space_close(&space);
	CHECK_OK(space_open_inside(&space, &catalogue, &super, tail, &err));
	assert_int_equal(space_free(&space), 0);
	assert_int_equal(space.count, 0);
	space_close(&space);
}

/* The end of a device is for catalogues, but not where a version has a segment. */
static void test_reserve(void **state)
{
	const struct superblock super = { .member_size = UINT64_C(64) << 20,
					  .segment_log = DSFS_SEGMENT_LOG_MIN,
					  .catalogue_address = DSFS_DATA_AT,
					  .catalogue_length = BLOCK };
	struct extent segment = { UINT64_C(63) << 20, UINT64_C(1) << DSFS_SEGMENT_LOG_MIN };
	struct version version = { .segments = { .items = &segment, .count = 1 } };
	const struct catalogue empty = { .tail = 0 }, full = { .versions = &version, .version_count = 1 };

	CHECK_OK(space_open(&space, &empty, &super, super.segment_log, super.member_size, &err));
	assert_int_equal(space_free(&space), (UINT64_C(62) << 20) - BLOCK);
	assert_int_equal(space.reserve[0].start, segment.address);
	assert_int_equal(space.reserve[0].end, super.member_size);
	space_close(&space);
	CHECK_OK(space_open(&space, &full, &super, super.segment_log, super.member_size, &err));
	assert_int_equal(space_free(&space), (UINT64_C(62) << 20) - BLOCK);
	assert_int_equal(space.reserve[0].end, 0);
	space_close(&space);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_small_pieces_fill_padding), cmocka_unit_test(test_the_smallest_that_fits),
		cmocka_unit_test(test_only_small_pieces),	  cmocka_unit_test(test_forgotten_padding),
		cmocka_unit_test(test_many_gaps),		  cmocka_unit_test(test_inside),
		cmocka_unit_test(test_inside_behind_the_tail),	  cmocka_unit_test(test_reserve),
	};

	return cmocka_run_group_tests_name("space", tests, NULL, NULL);
}
