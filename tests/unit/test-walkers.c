/* SPDX-License-Identifier: MIT */
/* Threads that walk: in order, with gaps, over jumps, not shuffled; each by itself, known by number or not. */
#include "lib/check.h"
#include "serve/readahead/walkers.h"

static struct walkers walkers;

/* A READ of this file; whether its thread walks. */
static bool reads(uint32_t thread, uint64_t key, uint64_t ordinal)
{
	struct walkers_place place;

	walkers_look(&walkers, thread, key, ordinal, &place);
	return walkers_step(&place, ordinal, walkers_is_next(place.ordinal, ordinal));
}

static int forget(void **state)
{
	memset(&walkers, 0, sizeof(walkers));
	return 0;
}

static void test_order(void **state)
{
	assert_false(reads(7, 1, 100));
	assert_false(reads(7, 1, 101));
	assert_false(reads(7, 1, 101 + WALKERS_GAP));
	assert_true(reads(7, 1, 107));
	assert_false(reads(7, 1, 107)); /* once more: nothing new */
	assert_true(reads(7, 1, 108));
	assert_false(reads(7, 1, 108 + WALKERS_GAP + 1));
	assert_false(reads(7, 1, 50));
	assert_false(reads(7, 1, 49)); /* backwards */
	assert_false(reads(7, 1, 48));
	assert_false(reads(7, 1, 47));
}

static void test_jumps(void **state)
{
	for (uint64_t i = 0; i < 20; i++)
		reads(7, 1, 100 + i);
	assert_false(reads(7, 1, 5000)); /* another directory */
	assert_true(reads(7, 1, 5001));
	for (uint64_t i = 0; i < 10; i++) /* and no order any more */
		assert_false(reads(7, 1, 9000 - 100 * i));
	assert_false(reads(7, 1, 20));
	assert_false(reads(7, 1, 21));
	assert_false(reads(7, 1, 22));
	assert_true(reads(7, 1, 23));
}

static void test_shuffled(void **state)
{
	uint64_t random = 1;

	for (unsigned i = 0; i < 100000; i++) {
		random = random * 6364136223846793005u + 1442695040888963407u;
		assert_false(reads(i % 16, 1, 2 + (random >> 33) % 20000));
	}
}

/* Several at once, also in one bucket, and on two versions. */
static void test_threads(void **state)
{
	bool walks = true;

	for (uint64_t i = 0; i < 10; i++) {
		walks = reads(3, 1, 100 + i);
		assert_int_equal(reads(3 + WALKERS_BUCKETS, 1, 900 + i), walks);
		assert_int_equal(reads(3 + 2 * WALKERS_BUCKETS, 2, 900 + i), walks);
	}
	assert_true(walks);
}

/* Threads of another namespace, which have no number. */
static void test_nobody(void **state)
{
	bool walks = true;

	for (uint64_t i = 0; i < 10; i++) {
		walks = reads(0, 1, 100 + i);
		assert_int_equal(reads(0, 1, 5000 + i), walks);
	}
	assert_true(walks);
}

CHECK_MAIN(cmocka_unit_test_setup(test_order, forget), cmocka_unit_test_setup(test_jumps, forget),
	   cmocka_unit_test_setup(test_shuffled, forget), cmocka_unit_test_setup(test_threads, forget),
	   cmocka_unit_test_setup(test_nobody, forget))
