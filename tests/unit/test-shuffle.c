/* SPDX-License-Identifier: MIT */
/* Orders of an epoch: numbers that never change, every sample once, and what is refused. tests/cli/python-shuffle.py
 * compares the orders with the specification. */
#include <errno.h>
#include <stdlib.h>

#include "datasetfs/datasetfs.h"
#include "lib/check.h"

static uint64_t samples[4096];
static uint8_t seen[4096];

static struct dsfs_shuffle *make(const char *key, uint64_t count, uint64_t block, uint64_t buffer)
{
	struct dsfs_shuffle_options options = { .size = sizeof(options), .key = key, .count = count, .block = block,
						.buffer = buffer };
	struct dsfs_shuffle *shuffle;

	assert_int_equal(dsfs_shuffle_new(&options, &shuffle), 0);
	return shuffle;
}

static struct dsfs_shuffle_deal deal_of(uint64_t ranks, uint64_t workers, uint64_t batch)
{
	return (struct dsfs_shuffle_deal){ .size = sizeof(struct dsfs_shuffle_deal), .ranks = ranks,
					   .workers = workers, .batch = batch };
}

static void check_numbers(const uint64_t *found, const uint64_t *expected, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		assert_int_equal(found[i], expected[i]);
}

static void test_numbers(void **state)
{
	struct dsfs_shuffle *shuffle = make("0 0", 1000, 1, 1);
	struct dsfs_shuffle_deal deal = deal_of(2, 2, 32);
	struct dsfs_shuffle_windows windows;

	assert_int_equal(dsfs_shuffle_at(shuffle, 0, 1, 5, samples), 0);
	check_numbers(samples, (uint64_t[]){ 402, 383, 153, 530, 926 }, 5);
	assert_int_equal(dsfs_shuffle_at(shuffle, 998, 2, 3, samples), 0);
	check_numbers(samples + 1, (uint64_t[]){ 402, 153 }, 2); /* behind the end it begins again */
	dsfs_shuffle_free(shuffle);

	shuffle = make("0 0", 1000, 16, 128);
	deal.rank = 1;
	assert_int_equal(dsfs_shuffle_batches(shuffle, &deal), 16);
	assert_int_equal(dsfs_shuffle_batch(shuffle, &deal, 3, samples, &windows), 32);
	check_numbers(samples, (uint64_t[]){ 203, 388, 501, 609, 199 }, 5);
	assert_int_equal(windows.first, 0);
	assert_int_equal(windows.count, 1);
	assert_int_equal(dsfs_shuffle_batch(shuffle, &deal, 15, NULL, NULL), 20);
	dsfs_shuffle_free(shuffle);
}

/* The number of samples that were not seen before. */
static unsigned count_new(int64_t count)
{
	unsigned found = 0;

	for (int64_t i = 0; i < count; i++) {
		assert_true(samples[i] < sizeof(seen));
		found += !seen[samples[i]];
		seen[samples[i]] = 1;
	}
	return found;
}

static void test_once(void **state)
{
	struct dsfs_shuffle *shuffle = make("any text", 4096, 100, 300);
	struct dsfs_shuffle_deal deal = deal_of(4, 2, 64);
	uint64_t position, count;

	memset(seen, 0, sizeof(seen));
	for (deal.rank = 0; deal.rank < 4; deal.rank++)
		for (unsigned i = 0; i < 5; i++)
			assert_int_equal(count_new(dsfs_shuffle_batch(shuffle, &deal, i, samples, NULL)), 64);
	deal.rank = 0;
	assert_int_equal(dsfs_shuffle_resume(shuffle, &deal, 5), 0);
	assert_int_equal(dsfs_shuffle_left(shuffle), 4096 - 4 * 5 * 64);
	deal = deal_of(1, 3, 64);
	for (unsigned i = 0; i < dsfs_shuffle_batches(shuffle, &deal); i++)
		assert_int_equal(count_new(dsfs_shuffle_batch(shuffle, &deal, i, samples, NULL)), 64);
	assert_int_equal(dsfs_shuffle_window(shuffle, &deal, 2, 0, &position, &count), 0);
	assert_true(count && count <= 300);
	assert_int_equal(dsfs_shuffle_window(shuffle, &deal, 2, 100, &position, &count), 0);
	assert_int_equal(count, 0);
	assert_int_equal(dsfs_shuffle_resume(shuffle, &deal, 1000), 0);
	assert_int_equal(dsfs_shuffle_left(shuffle), 0);
	assert_int_equal(dsfs_shuffle_batches(shuffle, &deal), 0);
	dsfs_shuffle_free(shuffle);
}

static void test_large(void **state)
{
	struct dsfs_shuffle *shuffle = make("0 0", UINT64_C(1) << 40, 1024, UINT64_C(1) << 40);
	struct dsfs_shuffle_deal deal = deal_of(1024, 1024, 1);

	assert_int_equal(dsfs_shuffle_at(shuffle, (UINT64_C(1) << 40) - 1, 1, 2, samples), 0);
	assert_true(samples[0] != samples[1] && samples[0] >> 40 == 0);
	deal.rank = 1023;
	assert_int_equal(dsfs_shuffle_batch(shuffle, &deal, (1 << 30) - 1, samples, NULL), 1);
	dsfs_shuffle_free(shuffle);
}

static void refuse(struct dsfs_shuffle_options options, const char *reason)
{
	struct dsfs_shuffle *shuffle;

	assert_int_equal(dsfs_shuffle_new(&options, &shuffle), -EINVAL);
	assert_non_null(strstr(dsfs_reason(), reason));
}

static void refuse_deal(struct dsfs_shuffle *shuffle, struct dsfs_shuffle_deal deal, const char *reason)
{
	assert_int_equal(dsfs_shuffle_batches(shuffle, &deal), -EINVAL);
	assert_non_null(strstr(dsfs_reason(), reason));
}

static void test_refusals(void **state)
{
	const uint32_t size = sizeof(struct dsfs_shuffle_options);
	struct dsfs_shuffle *shuffle = make("", 0, 1, 1);
	struct dsfs_shuffle_deal deal = deal_of(2, 1, 1);
	char key[400];

	memset(key, 'x', sizeof(key) - 1);
	key[sizeof(key) - 1] = 0;
	refuse((struct dsfs_shuffle_options){ 8, 0, "a", 1, 1, 1 }, "options of 8 bytes");
	refuse((struct dsfs_shuffle_options){ size, 0, key, 1, 1, 1 }, "a key of 399 bytes, expected at most 383");
	refuse((struct dsfs_shuffle_options){ size, 0, "a", (UINT64_C(1) << 40) + 1, 1, 1 }, "at most 2^40");
	refuse((struct dsfs_shuffle_options){ size, 0, "a", 1, 0, 1 }, "blocks of 0 samples");
	refuse((struct dsfs_shuffle_options){ size, 0, "a", 1, 1, 0 }, "a buffer of 0");
	assert_int_equal(dsfs_shuffle_at(shuffle, 0, 1, 0, samples), 0);
	assert_int_equal(dsfs_shuffle_at(shuffle, 0, 1, 1, samples), -EINVAL);
	assert_int_equal(dsfs_shuffle_batch(shuffle, &deal, 0, samples, NULL), -EINVAL);
	deal.rank = 2;
	refuse_deal(shuffle, deal, "rank 2, expected 0 … 1");
	refuse_deal(shuffle, deal_of(1, 0, 1), "with 0 workers");
	refuse_deal(shuffle, deal_of(1025, 1024, 1), "expected 1 … 1048576 workers together");
	refuse_deal(shuffle, deal_of(1, 1, 0), "batches of 0 samples");
	dsfs_shuffle_free(shuffle);
	dsfs_shuffle_free(NULL);
}

CHECK_MAIN(cmocka_unit_test(test_numbers), cmocka_unit_test(test_once), cmocka_unit_test(test_large),
	   cmocka_unit_test(test_refusals))
