/* SPDX-License-Identifier: MIT */
/* Which versions pin which segments: runs, their users, and that the work follows the lists and not the volume. */
#include <stdlib.h>

#include "lib/check.h"
#include "list/pins.h"

#define SEGMENT (UINT64_C(1) << 20)

static struct catalogue catalogue;
static struct superblock super = { .segment_log = 20, .catalogue_address = 9 * SEGMENT, .catalogue_length = 4096 };

static void add_extent(uint32_t version, uint64_t from, uint64_t to)
{
	struct extent_list *list = &catalogue.versions[version].segments;

	list->items = realloc(list->items, (list->count + 1) * sizeof(*list->items));
	list->items[list->count++] = (struct extent){ from * SEGMENT, (to - from) * SEGMENT };
}

static void begin(uint32_t versions)
{
	catalogue = (struct catalogue){ .version_count = versions };
	catalogue.versions = calloc(versions, sizeof(*catalogue.versions));
}

/* The next run, with its versions as digits. */
static void expect_run(struct pins *pins, uint64_t from, uint64_t to, const char *versions, bool in_catalogue)
{
	struct pins_run run;
	char found[16] = "";
	uint32_t count = 0;

	assert_true(pins_next(pins, &run));
	for (uint32_t v = pins_version(pins, 0); v < pins->versions; v = pins_version(pins, v + 1))
		found[count++] = (char)('0' + v);
	assert_string_equal(found, versions);
	assert_int_equal(run.from, from);
	assert_int_equal(run.to, to);
	assert_int_equal(run.users, count);
	assert_int_equal(run.catalogue, in_catalogue);
	if (count == 1)
		assert_int_equal(run.only, versions[0] - '0');
}

static void test_runs(void **state)
{
	struct pins pins;
	struct pins_run run;

	begin(3);
	add_extent(0, 0, 2);
	add_extent(0, 2, 4); /* goes on: no border */
	add_extent(1, 2, 3);
	add_extent(1, 3, 5);
	add_extent(2, 3, 4);
	add_extent(2, 9, 30); /* the volume ends before */
	CHECK_OK(pins_open(&catalogue, &super, 0, 12, &pins, &err));
	for (int i = 0; i < 2; i++) {
		expect_run(&pins, 0, 2, "0", false);
		expect_run(&pins, 2, 3, "01", false);
		expect_run(&pins, 3, 4, "012", false);
		expect_run(&pins, 4, 5, "1", false);
		expect_run(&pins, 5, 9, "", false);
		expect_run(&pins, 9, 10, "2", true);
		expect_run(&pins, 10, 12, "2", false);
		assert_false(pins_next(&pins, &run));
		pins_rewind(&pins);
	}
	pins_close(&pins);
	catalogue_free(&catalogue);
}

/* 16 TiB in segments of 1 MiB, pinned by 4096 versions: segment by segment that would be 2^36 questions. */
static void test_steps_follow_the_lists(void **state)
{
	uint64_t total = UINT64_C(1) << 24;
	struct pins pins;
	struct pins_run run;
	unsigned runs = 0;

	begin(DSFS_VERSIONS_MAX);
	for (uint32_t v = 0; v < DSFS_VERSIONS_MAX; v++)
		add_extent(v, 0, total);
	CHECK_OK(pins_open(&catalogue, &super, 0, total, &pins, &err));
	assert_int_equal(pins.count, 2 * (DSFS_VERSIONS_MAX + 1));
	while (pins_next(&pins, &run)) {
		assert_int_equal(run.users, DSFS_VERSIONS_MAX);
		runs++;
	}
	assert_int_equal(runs, 3); /* around the catalogue */
	pins_close(&pins);
	catalogue_free(&catalogue);
}

CHECK_MAIN(cmocka_unit_test(test_runs), cmocka_unit_test(test_steps_follow_the_lists))
