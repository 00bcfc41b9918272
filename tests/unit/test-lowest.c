/* SPDX-License-Identifier: MIT */
/* Sorting in passes: all items come once, in order, whatever the passes hold and in what order items are added. */
#include <stdlib.h>

#include "base/lowest.h"
#include "lib/check.h"

#define ITEMS 2000u
#define KEYS  700u /* so several items have the same */

struct item {
	uint64_t key, times;
};

static int compare(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	return (x->key > y->key) - (x->key < y->key);
}

static void merge(void *kept, const void *other)
{
	((struct item *)kept)->times += ((const struct item *)other)->times;
}

static const struct lowest_kind kind = { .size = sizeof(struct item), .compare = compare, .merge = merge };
static uint64_t keys[ITEMS], times[KEYS];

/* One pass over the items, from this key on. Returns how many it kept. */
static size_t pass(struct lowest *lowest, uint64_t from)
{
	lowest_begin(lowest);
	for (size_t i = 0; i < ITEMS; i++)
		if (keys[i] >= from)
			lowest_add(lowest, &(struct item){ keys[i], 1 });
	lowest_sort(lowest);
	return lowest->count;
}

static void test_passes(void **state)
{
	srandom(3);
	for (size_t i = 0; i < ITEMS; i++)
		times[keys[i] = (uint64_t)random() % KEYS]++;
	for (size_t most = 1; most < ITEMS; most += 1 + most / 2) {
		struct lowest lowest = { .kind = &kind };
		uint64_t next = 0;

		CHECK_OK(lowest_reserve(&lowest, most, &err));
		do {
			const struct item *items;
			size_t count = pass(&lowest, next);

			items = lowest.items;
			assert_true(count == most || !lowest.is_cut);
			for (size_t i = 0; i < count; i++, next++) {
				while (!times[next])
					next++;
				assert_int_equal(items[i].key, next);
				assert_int_equal(items[i].times, times[next]);
			}
		} while (lowest.is_cut);
		for (; next < KEYS; next++)
			assert_int_equal(times[next], 0);
		lowest_free(&lowest);
	}
}

/* However many items there are, the passes over all of them are few. */
static void test_share(void **state)
{
	const uint64_t most = LOWEST_PASSES * LOWEST_LEAST;
	const uint64_t counts[] = { 0, 1, LOWEST_LEAST, most, most + 1, UINT64_C(1) << 32 };

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		uint64_t share = lowest_share(counts[i]);

		assert_true((counts[i] + share - 1) / share <= LOWEST_PASSES);
		assert_true(share <= LOWEST_LEAST + counts[i] / LOWEST_PASSES);
	}
}

CHECK_MAIN(cmocka_unit_test(test_passes), cmocka_unit_test(test_share))
