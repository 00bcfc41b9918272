/* SPDX-License-Identifier: MIT */
/* Files that were announced are taken in the order in which they are needed, each with those that lie around it. */
#include <stdlib.h>

#include "lib/check.h"
#include "read/op.h"
#include "serve/readahead/pick.h"
#include "serve/readahead/upcoming.h"

#define STEP 8192u /* bytes from file to file */

static uint64_t ordinals[PICK_FILES];

/* Adds files of STEP bytes, whose ordinals say where they lie. */
static void add(struct upcoming *upcoming, const uint64_t *at, uint32_t count)
{
	struct upcoming_file *files = calloc(count, sizeof(*files));

	assert_non_null(files);
	for (uint32_t i = 0; i < count; i++)
		files[i] = (struct upcoming_file){ at[i] * STEP, .ordinal = at[i], .stored = STEP, .size = STEP };
	CHECK_OK(upcoming_add(upcoming, files, count, &err));
	free(files);
}

/* Takes a run and compares it, in any order, with the ordinals from `first` to `last`. */
static void expect_run(struct upcoming *upcoming, uint64_t first, uint64_t last)
{
	uint64_t bytes, sum = 0, expected = 0;
	uint32_t count = upcoming_take(upcoming, ordinals, PICK_FILES, &bytes);

	assert_int_equal(count, last - first + 1);
	assert_int_equal(bytes, count * STEP);
	for (uint64_t i = first; i <= last; i++)
		expected += i;
	for (uint32_t i = 0; i < count; i++) {
		assert_in_range(ordinals[i], first, last);
		sum += ordinals[i];
	}
	assert_int_equal(sum, expected);
}

static void expect_none(struct upcoming *upcoming)
{
	uint64_t bytes;

	assert_int_equal(upcoming_take(upcoming, ordinals, PICK_FILES, &bytes), 0);
	assert_int_equal(bytes, 0);
	assert_int_equal(upcoming->waiting, 0);
}

static void runs_come_by_need(void **state)
{
	static const uint64_t first[] = { 500, 101, 900, 100, 300 }, more[] = { 102, 301, 10 };
	struct upcoming upcoming = { 0 };

	expect_none(&upcoming);
	add(&upcoming, first, 5);
	add(&upcoming, more, 3);
	assert_int_equal(upcoming.waiting, 8);
	expect_run(&upcoming, 500, 500);
	expect_run(&upcoming, 100, 102);
	expect_run(&upcoming, 900, 900);
	add(&upcoming, (uint64_t[]){ 900, 10, 10 }, 3);
	expect_run(&upcoming, 300, 301);
	expect_run(&upcoming, 10, 10);
	expect_run(&upcoming, 900, 900);
	expect_none(&upcoming);
	upcoming_clear(&upcoming);
}

/* A lone file is not read with one that lies further off than UPCOMING_GAP; a long run is. */
static void gaps(void **state)
{
	uint64_t files[34], bytes;
	struct upcoming upcoming = { 0 };

	add(&upcoming, (uint64_t[]){ 10, 13, 17 }, 3); /* two files between the first two, three between the others */
	assert_int_equal(upcoming_take(&upcoming, ordinals, PICK_FILES, &bytes), 2);
	expect_run(&upcoming, 17, 17);
	for (uint64_t i = 0; i < 34; i++)
		files[i] = i < 32 ? 100 + i : i == 32 ? 95 : 92;
	add(&upcoming, files, 34);
	assert_int_equal(upcoming_take(&upcoming, ordinals, PICK_FILES, &bytes), 34);
	expect_none(&upcoming);
	upcoming_clear(&upcoming);
}

/* A file that a READ asked for is not taken. */
static void forgotten(void **state)
{
	struct upcoming upcoming = { 0 };

	add(&upcoming, (uint64_t[]){ 50, 5, 6, 7 }, 4);
	expect_run(&upcoming, 50, 50);
	upcoming_forget(&upcoming, 7 * STEP, 7);
	upcoming_forget(&upcoming, 7 * STEP, 7);
	upcoming_forget(&upcoming, 8 * STEP, 8);
	assert_int_equal(upcoming.waiting, 2);
	expect_run(&upcoming, 5, 6);
	expect_none(&upcoming);
	upcoming_clear(&upcoming);
}

/* One take brings as much as it may, and all takes bring each file once; the memory depends on the files that wait. */
static void many(void **state)
{
	uint64_t files[1000], taken = 0, bytes;
	struct upcoming upcoming = { 0 };
	uint32_t count, most = 0;

	for (uint64_t round = 0; round < 200; round++) {
		for (uint64_t i = 0; i < 1000; i++)
			files[i] = 100000 * (i % 2) + round * 500 + i / 2;
		add(&upcoming, files, 1000);
		count = upcoming_take(&upcoming, ordinals, PICK_FILES, &bytes);
		assert_true(bytes <= UPCOMING_BYTES);
		most = count > most ? count : most;
		taken += count;
		assert_true(upcoming.end <= 4 * (uint64_t)upcoming.waiting + 4096);
	}
	assert_int_equal(most, 2 * READ_MAX / STEP / 2 + 1);
	while ((count = upcoming_take(&upcoming, ordinals, PICK_FILES, &bytes)))
		taken += count;
	assert_int_equal(taken, 200000);
	expect_none(&upcoming);
	upcoming_clear(&upcoming);
}

CHECK_MAIN(cmocka_unit_test(runs_come_by_need), cmocka_unit_test(gaps), cmocka_unit_test(forgotten),
	   cmocka_unit_test(many))
