/* SPDX-License-Identifier: MIT */
/* How many chunks one read takes: bytes of content, bytes of the device, gaps, chunks that need no device. */
#include "image/chunk.h"
#include "image/members/address.h"
#include "lib/check.h"
#include "read/gather.h"
#include "read/op.h"

#define AT  DSFS_DATA_AT
#define GAP 4096u

static struct chunk chunk_at(uint64_t address, uint32_t stored, uint32_t length)
{
	return (struct chunk){ .address = address, .stored = stored, .length = length, .codec = DSFS_CODEC_RAW };
}

/* Adds equal chunks, each so far behind the one before, until one does not fit; returns how many did. */
static uint32_t fill(struct gather *gather, uint32_t stored, uint32_t length, uint64_t gap)
{
	struct chunk chunk = chunk_at(AT, stored, length);

	*gather = (struct gather){ .gap = GAP };
	while (gather_add(gather, &chunk))
		chunk.address += stored + gap;
	return gather->count;
}

static void test_limits(void **state)
{
	struct gather gather;

	(void)state;
	assert_int_equal(fill(&gather, 65536, 65536, 0), READ_MAX / 65536);
	assert_int_equal(gather.content, READ_MAX);
	assert_int_equal(gather.stored, READ_MAX);
	assert_int_equal(gather.end, AT + READ_MAX);
	assert_int_equal(fill(&gather, 1, 1, 0), READ_PIECES);
	/* Compressed ones: what they decode to counts as well. */
	assert_int_equal(fill(&gather, 1000, 131072, 0), READ_MAX / 131072);
	assert_int_equal(gather.stored, READ_MAX / 131072 * 1000);
}

/* The first gap that does not fit ends the read, though the content would; larger ones are skipped and cost nothing. */
static void test_gaps(void **state)
{
	struct gather gather;

	(void)state;
	assert_int_equal(fill(&gather, 4096, 4096, GAP), READ_MAX / (4096 + GAP));
	assert_int_equal(gather.stored, READ_MAX - GAP);
	assert_int_equal(fill(&gather, 4096, 4096, GAP + 1), READ_MAX / 4096);
	assert_int_equal(gather.stored, READ_MAX);
}

/* One that lies before the last is read by itself, so there is no gap. */
static void test_backwards(void **state)
{
	struct chunk chunks[2] = { chunk_at(AT + 8192, 100, 100), chunk_at(AT, 200, 200) };
	struct gather gather = { .gap = GAP };

	(void)state;
	assert_true(gather_add(&gather, &chunks[0]) && gather_add(&gather, &chunks[1]));
	assert_int_equal(gather.stored, 300);
	assert_int_equal(gather.end, AT + 200);
}

/* The content of holes and of chunks in the index counts, and they end no run of the device. */
static void test_without_device(void **state)
{
	struct chunk hole = chunk_at(0, 0, 1000), in_index = chunk_at(address_make(DSFS_IN_INDEX, 0), 500, 500);
	struct chunk first = chunk_at(AT, 100, 100), last = chunk_at(AT + 100 + GAP, 100, 100);
	struct gather gather = { .gap = GAP };

	(void)state;
	assert_true(gather_add(&gather, &first) && gather_add(&gather, &hole) && gather_add(&gather, &in_index));
	assert_int_equal(gather.content, 1600);
	assert_int_equal(gather.stored, 100);
	assert_true(gather_add(&gather, &last));
	assert_int_equal(gather.stored, 200 + GAP);
	assert_int_equal(gather.count, 4);
}

/* A chunk that does not fit changes nothing; the first one fits, whatever it says of itself. */
static void test_refused(void **state)
{
	struct chunk all = chunk_at(AT, READ_MAX, READ_MAX), more = chunk_at(AT + READ_MAX, 1, 1);
	struct gather gather = { .gap = GAP }, before;

	(void)state;
	assert_true(gather_add(&gather, &all));
	before = gather;
	assert_false(gather_add(&gather, &more));
	assert_memory_equal(&gather, &before, sizeof(gather));
	all.stored++;
	gather = (struct gather){ .gap = GAP };
	assert_true(gather_add(&gather, &all));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_limits),	       cmocka_unit_test(test_gaps),
		cmocka_unit_test(test_backwards),      cmocka_unit_test(test_without_device),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
