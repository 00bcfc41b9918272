/* SPDX-License-Identifier: MIT */
/* The table of places: what a reader refuses, and how files without an address are spread over the others. */
#include <errno.h>
#include <unistd.h>

#include "image/catalogue/index_load.h"
#include "image/chunk.h"
#include "image/places.h"
#include "lib/check.h"
#include "lib/section.h"

static struct section section; /* large: not on the stack */

/* A directory with ordinal 2, and files with 3, 4 and 5. */
static void make_tree(void)
{
	section_init(&section);
	section_directory(&section, 1, "a");
	section_file(&section, 1, "b", 0, 0);
	section_file(&section, 1, "c", 0, 0);
	section_file(&section, 1, "d", 0, 0);
}

static int open_section(struct index **ret, struct error *err)
{
	struct version version;
	int fd = section_write(&section, &version);
	int r = index_load_fd(fd, &version, 1u << 30, NULL, ret, err);

	if (r < 0)
		close(fd);
	return r;
}

static void refuses(uint64_t first, uint64_t second, uint64_t third, const char *reason)
{
	struct index *index;

	make_tree();
	section_place(&section, first);
	section_place(&section, second);
	section_place(&section, third);
	CHECK_FAILS(open_section(&index, &err), -EBADMSG, reason);
}

static void test_table(void **state)
{
	const uint64_t table[] = { 5, 3, 4 };
	struct index *index;

	make_tree();
	CHECK_OK(open_section(&index, &err));
	assert_false(places_has_table(index));
	index_close(index);
	for (int i = 0; i < 3; i++)
		section_place(&section, table[i]);
	CHECK_OK(open_section(&index, &err));
	assert_true(places_has_table(index));
	for (uint64_t i = 0; i < 3; i++)
		assert_int_equal(places_get(index, i), table[i]);
	index_close(index);
}

static void test_wrong_table(void **state)
{
	struct index *index;

	refuses(3, 4, 3, "places: element 2 is 3, expected a file not named before");
	refuses(3, 2, 5, "places: element 1 is 2, expected");
	refuses(0, 4, 5, "places: element 0 is 0, expected");
	refuses(3, 4, 6, "places: element 2 is 6, expected");
	refuses(3, UINT32_MAX, 5, "places: element 1 is 4294967295, expected");
	make_tree();
	section_place(&section, 3);
	CHECK_FAILS(open_section(&index, &err), -EBADMSG, "places: 1 elements, the version has 3 files");
	for (int i = 0; i < 3; i++)
		section_place(&section, 5);
	CHECK_FAILS(open_section(&index, &err), -EBADMSG, "places: 4 elements, the version has 3 files");
}

static void test_table_outside(void **state)
{
	const struct index_shape good = { .names_length = 8192, .inode_count = 4, .blob_length = 100,
					  .places_at = 88, .places_count = 3 };
	struct index_layout layout;
	struct index_shape shape = good;

	CHECK_OK(index_layout(&shape, &layout, &err));
	shape.places_at = 89;
	CHECK_FAILS(index_layout(&shape, &layout, &err), -EBADMSG, "index: 3 places at 89 in a blob of 100");
	shape.places_at = UINT64_MAX - 3;
	CHECK_FAILS(index_layout(&shape, &layout, &err), -EBADMSG, "in a blob of 100");
	shape = good;
	shape.places_count = UINT64_MAX / 4 + 2;
	CHECK_FAILS(index_layout(&shape, &layout, &err), -EBADMSG, "in a blob of 100");
}

static void test_address(void **state)
{
	struct chunk chunk = { .sum.kind = DSFS_SUM_XXH3_64 };
	struct dsfs_chunk records[3];

	chunk_encode(&chunk, &records[0]);
	chunk.address = UINT64_C(7) << DSFS_ADDRESS_BITS | 4096, chunk.stored = 100;
	chunk_encode(&chunk, &records[1]);
	chunk.address = (uint64_t)DSFS_IN_INDEX << DSFS_ADDRESS_BITS | 4096;
	chunk_encode(&chunk, &records[2]);
	assert_int_equal(places_address(0, DSFS_SUM_XXH3_64, records, 0), 0);
	assert_int_equal(places_address(200, DSFS_SUM_XXH3_64, records, 1), 0);
	assert_int_equal(places_address(200, DSFS_SUM_XXH3_64, records, 2), UINT64_C(7) << DSFS_ADDRESS_BITS | 4096);
	assert_int_equal(places_address(DSFS_SHARED_MAX, DSFS_SUM_XXH3_64, records + 1, 1),
			 UINT64_C(7) << DSFS_ADDRESS_BITS | 4096);
	assert_int_equal(places_address(DSFS_SHARED_MAX + 1, DSFS_SUM_XXH3_64, records + 1, 1), 0);
	assert_int_equal(places_address(100, DSFS_SUM_XXH3_64, records + 2, 1), 0);
}

/* Each of 1100 files without an address has one place among ten others, and each place gets about as many. */
static void test_spread(void **state)
{
	uint64_t counts[11] = { 0 }, place;

	for (uint64_t i = 0; i < 1100; i++) {
		for (place = 0; !places_is_before(places_key(7, i), place, 10); place++)
			continue;
		assert_true(place <= 10);
		counts[place]++;
	}
	for (int i = 0; i < 11; i++)
		assert_in_range(counts[i], 60, 140);
	assert_true(places_is_before(UINT64_MAX, 0, 0));
	assert_true(places_is_before(UINT64_MAX, 10, 10));
	assert_false(places_is_before(UINT64_MAX, 9, 10));
	assert_true(places_is_before(0, 0, 10));
}

/* Keys stay what they are: the same seed gives the same volume in every release. */
static void test_keys(void **state)
{
	assert_true(places_key(0, 1) == places_key(0, 1));
	assert_true(places_key(0, 1) != places_key(0, 2));
	assert_true(places_key(0, 1) != places_key(1, 1));
	assert_true(places_key(0, 1) != places_key(1, 0));
	assert_int_equal(places_key(0, 1), UINT64_C(0xea8568d2e45fd6cb));
	assert_int_equal(places_key(5, 1000000), UINT64_C(0xf35deb6d2ed0354b));
}

CHECK_MAIN(cmocka_unit_test(test_table), cmocka_unit_test(test_wrong_table), cmocka_unit_test(test_table_outside),
	   cmocka_unit_test(test_address), cmocka_unit_test(test_spread), cmocka_unit_test(test_keys))
