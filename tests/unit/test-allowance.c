/* SPDX-License-Identifier: MIT */
/* Files that are kept ahead of readers and reads under way together take no more memory than there is for them. */
#include "lib/check.h"
#include "read/op.h"
#include "serve/readahead/allowance.h"

#define MOST  (UINT64_C(16) << 20)
#define READS 16u
#define ALL   (MOST + READS * READ_SCRATCH)

static void all_of_it_where_there_is_room(void **state)
{
	const uint64_t enough[] = { ALL, ALL + 1, UINT64_MAX };
	struct allowance allowance;

	for (unsigned i = 0; i < 3; i++) {
		allowance = allowance_of(enough[i], MOST, READS);
		assert_int_equal(allowance.kept, MOST);
		assert_int_equal(allowance.reads, READS);
	}
}

static void no_more_than_there_is(void **state)
{
	struct allowance allowance, before = { .reads = 1 };
	uint64_t memory;

	for (memory = 0; memory < ALL; memory += 10000) {
		allowance = allowance_of(memory, MOST, READS);
		assert_in_range(allowance.reads, before.reads, READS);
		assert_true(!allowance.kept || allowance.kept + allowance.reads * READ_SCRATCH <= memory);
		assert_true(!allowance.kept || (allowance.kept >= READ_MAX && allowance.kept <= MOST));
		assert_true(allowance.kept || !before.kept);
		assert_true(allowance.kept + READ_SCRATCH >= before.kept);
		before = allowance;
	}
	assert_int_equal(before.kept, MOST);
}

static void most_of_it_is_for_files(void **state)
{
	const uint64_t memory = READS * READ_SCRATCH;
	struct allowance allowance = allowance_of(memory, UINT64_MAX, READS);

	assert_int_equal(allowance.reads, READS / 4);
	assert_int_equal(allowance.kept, memory / 4 * 3);
}

static void nothing_is_read_without_memory(void **state)
{
	assert_int_equal(allowance_of(0, MOST, READS).kept, 0);
	assert_int_equal(allowance_of(READ_SCRATCH + READ_MAX - 1, MOST, READS).kept, 0);
	assert_int_equal(allowance_of(READ_SCRATCH + READ_MAX, MOST, READS).kept, READ_MAX);
}

CHECK_MAIN(cmocka_unit_test(all_of_it_where_there_is_room), cmocka_unit_test(no_more_than_there_is),
	   cmocka_unit_test(most_of_it_is_for_files), cmocka_unit_test(nothing_is_read_without_memory))
