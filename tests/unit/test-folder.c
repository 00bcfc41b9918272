/* SPDX-License-Identifier: MIT */
/* The heads of copies of indexes. */
#include <errno.h>
#include <string.h>

#include "cache/copy.h"
#include "lib/check.h"

static const struct copy copy = { .sha256 = { 1, 2, 3 }, .length = 3 * DSFS_BLOCK, .version = { 4, 5 }, .sequence = 7,
				  .label = "v7" };

static void test_round_trip(void **state)
{
	struct version version = { .label = "v7", .uuid = { 4, 5 }, .sequence = 7,
				   .index = { .length = 3 * DSFS_BLOCK, .sha256 = { 1, 2, 3 } } };
	struct copy of = copy_of(&version, COPY_INDEX), back;
	uint8_t head[COPY_AT];

	assert_memory_equal(&of, &copy, sizeof(copy));
	copy_encode(&copy, head);
	CHECK_OK(copy_decode(span_of(head, sizeof(head)), &back, &err));
	assert_memory_equal(&back, &copy, sizeof(copy));
	memset(version.label, 'x', DSFS_LABEL_MAX);
	of = copy_of(&version, COPY_BLOCK_SUMS);
	assert_int_equal(of.length, 0);
	of.length = DSFS_BLOCK;
	copy_encode(&of, head);
	CHECK_OK(copy_decode(span_of(head, sizeof(head)), &back, &err));
	assert_memory_equal(&back, &of, sizeof(of));
}

/* Decodes the head with another byte at this offset. */
static int decode_with(size_t at, uint8_t byte, struct error *err)
{
	uint8_t head[COPY_AT];
	struct copy back;

	copy_encode(&copy, head);
	head[at] = byte;
	return copy_decode(span_of(head, sizeof(head)), &back, err);
}

static void test_refused(void **state)
{
	uint8_t head[COPY_AT];
	struct copy back;

	copy_encode(&copy, head);
	CHECK_FAILS(copy_decode(span_of(head, 200), &back, &err), -EBADMSG, "does not begin as a copy");
	CHECK_FAILS(copy_decode(span_of(head, 0), &back, &err), -EBADMSG, "does not begin as a copy");
	CHECK_FAILS(decode_with(0, 'd', &err), -EBADMSG, "does not begin as a copy");
	CHECK_FAILS(decode_with(8, 2, &err), -EOPNOTSUPP, "it has the format 2, this release knows 1");
	CHECK_FAILS(decode_with(12, 2, &err), -EBADMSG, "its head is damaged");
	CHECK_FAILS(decode_with(16, 1, &err), -EBADMSG, "its head is damaged: 12289 bytes");
	CHECK_FAILS(decode_with(17, 0, &err), -EBADMSG, "its head is damaged: 0 bytes");
	CHECK_FAILS(decode_with(80, '\n', &err), -EBADMSG, "its head is damaged");
	memset(head + 80, 'x', 128);
	CHECK_OK(copy_decode(span_of(head, sizeof(head)), &back, &err)); /* as long as a label may be */
	assert_int_equal(strlen(back.label), DSFS_LABEL_MAX);
}

CHECK_MAIN(cmocka_unit_test(test_round_trip), cmocka_unit_test(test_refused))
