/* SPDX-License-Identifier: MIT */
/* The cache of files read ahead is bounded, however small they are. */
#include "base/clock.h"
#include "lib/check.h"
#include "serve/readahead/kept.h"

#define MOST (UINT64_C(4) << 20)

static struct kept_account account;

static void keep_one(struct kept *kept, uint64_t ordinal, uint64_t *ret_dropped)
{
	struct kept_batch *batch = kept_begin(&account);
	const struct inode inode = { .ordinal = ordinal, .size = 1 };

	assert_non_null(batch);
	kept_add(kept, batch, 1, &inode, false);
	assert_int_equal(kept_reserve(kept, batch, ret_dropped), 0);
	kept_arrive(kept, batch);
	kept_end(kept, batch, false);
}

static void batches_of_one_byte(void **state)
{
	uint64_t dropped, count = 0;
	struct kept *kept = NULL;

	CHECK_OK(kept_new(MOST, &kept, &err));
	do {
		keep_one(kept, ++count, &dropped);
		assert_true(count * sizeof(struct kept_batch) <= MOST + sizeof(struct kept_batch));
	} while (!dropped);
	assert_int_equal(dropped, 1);
	assert_true(count > 50);
	assert_true(account.bytes <= MOST);
	assert_true(account.bytes > MOST / 2);
	assert_int_equal(kept_expire(kept, INT64_MAX), count - 1);
	assert_int_equal(account.expired, count - 1);
	assert_int_equal(account.bytes, 0);
	assert_int_equal(kept_bytes(kept), 0);
	kept_free(kept);
}

static void the_limit_falls(void **state)
{
	uint64_t dropped, size;
	struct kept *kept = NULL;

	CHECK_OK(kept_new(MOST, &kept, &err));
	for (uint64_t ordinal = 1; ordinal <= 20; ordinal++)
		keep_one(kept, ordinal, &dropped);
	size = kept_bytes(kept);
	assert_int_equal(kept_limit(kept, size), 0);
	assert_int_equal(kept_limit(kept, size / 2), 10);
	assert_int_equal(kept_bytes(kept), size / 2);
	assert_null(kept_pin(kept, 1, 10));
	keep_one(kept, 21, &dropped);
	assert_int_equal(dropped, 1);
	assert_int_equal(kept_limit(kept, 0), 10);
	assert_int_equal(kept_bytes(kept), 0);
	kept_free(kept);
}

/* Reads the whole file. */
static void take_one(struct kept *kept, uint64_t ordinal)
{
	const struct kept_range range = { .key = 1, .ordinal = ordinal, .size = 1 };
	struct kept_piece piece;

	assert_int_equal(kept_take(kept, &range, NULL, &piece), KEPT_FOUND);
	kept_release(kept, &piece);
}

/* Old files stay while others are read, until so much has come after them that the reader must have passed them. */
static void old_files(void **state)
{
	struct kept *kept = NULL;
	uint64_t dropped, ordinal = 1;
	int64_t before;

	account = (struct kept_account){ 0 };
	CHECK_OK(kept_new(MOST, &kept, &err));
	keep_one(kept, ordinal, &dropped);
	before = clock_now() + 1;
	while (clock_now() <= before)
		continue;
	for (uint64_t bytes = 0; bytes < 2 * MOST; bytes += account.bytes) {
		keep_one(kept, ++ordinal, &dropped);
		take_one(kept, ordinal);
		if (bytes + account.bytes < 2 * MOST)
			assert_int_equal(kept_expire(kept, before), 0);
	}
	assert_int_equal(kept_expire(kept, before), 1);
	assert_int_equal(account.expired, 1);
	assert_int_equal(account.bytes, 0);
	kept_free(kept);
}

CHECK_MAIN(cmocka_unit_test(batches_of_one_byte), cmocka_unit_test(the_limit_falls), cmocka_unit_test(old_files))
