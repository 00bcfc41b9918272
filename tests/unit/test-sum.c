/* SPDX-License-Identifier: MIT */
/* Sums of both kinds are the same in one piece and in several; blocks are told from others by the sums of a row, and a
 * row of SHA-256 by the sum of its chunk. */
#include <errno.h>
#include <stdlib.h>

#include "image/sums/checksum.h"
#include "image/sums/sha256.h"
#include "image/sums/sum.h"
#include "lib/check.h"

#define CHUNK (128u << 10)

static const uint32_t kinds[] = { DSFS_SUM_XXH3_64, DSFS_SUM_SHA256 };
static uint8_t content[CHUNK], blocks[CHUNK / DSFS_BLOCK * 8];

#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static int fill(void **state)
{
	for (size_t i = 0; i < sizeof(content); i++)
		content[i] = (uint8_t)(i * 2654435761u >> 13);
	return 0;
}

static void test_kinds(void **state)
{
	uint32_t kind = 0;

	for (size_t i = 0; i < KINDS; i++) {
		CHECK_OK(sum_find(sum_name(kinds[i]), &kind, &err));
		assert_int_equal(kind, kinds[i]);
		CHECK_OK(sum_check_kind(kind, "v1", &err));
	}
	CHECK_FAILS(sum_find("sha-256", &kind, &err), -EINVAL, "'sha-256' is not xxh3-64 or sha256");
	CHECK_FAILS(sum_check_kind(0, "v1", &err), -EOPNOTSUPP, "version 'v1': chunk sums of kind 0");
	CHECK_FAILS(sum_check_kind(3, "v1", &err), -EOPNOTSUPP, "chunk sums of kind 3, this release knows 1 and 2");
	assert_int_equal(sum_size(3), 0);
	assert_string_equal(sum_name(UINT32_MAX), "unknown");
}

static void test_known(void **state)
{
	struct sum sum = sum_of(DSFS_SUM_SHA256, "abc", 3);
	char text[SUM_TEXT_SIZE];

	assert_string_equal(sum_text(&sum, text), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	sum = sum_of(DSFS_SUM_SHA256, "", 0);
	assert_string_equal(sum_text(&sum, text), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	sum = sum_at(DSFS_SUM_XXH3_64, &(dsfs_le64){ { 1, 2, 3, 4, 5, 6, 7, 8 } });
	assert_string_equal(sum_text(&sum, text), "0807060504030201");
}

/* The format: of more than a block, the SHA-256 of those of the blocks. */
static void test_tree(void **state)
{
	uint8_t sums[3][SHA256_SIZE];
	struct sum sum;

	for (size_t i = 0; i < 3; i++)
		CHECK_OK(sha256_of(content + i * DSFS_SUM_BLOCK, i < 2 ? DSFS_SUM_BLOCK : 1, sums[i], &err));
	sum = sum_of(DSFS_SUM_SHA256, content, DSFS_SUM_BLOCK);
	assert_memory_equal(sum.bytes, sums[0], SHA256_SIZE);
	CHECK_OK(sha256_of(sums, sizeof(sums), sums[0], &err));
	sum = sum_of(DSFS_SUM_SHA256, content, 2 * DSFS_SUM_BLOCK + 1);
	assert_memory_equal(sum.bytes, sums[0], SHA256_SIZE);
}

/* Cuts length bytes anywhere into four pieces, which may be empty. */
static void cut(size_t length, struct iovec pieces[SUM_PIECES])
{
	size_t at = 0, step;

	for (int i = 0; i < SUM_PIECES; i++, at += step) {
		step = i == SUM_PIECES - 1 ? length - at : (size_t)random() % (length - at + 1);
		pieces[i] = (struct iovec){ content + at, step };
	}
}

static void test_pieces(void **state)
{
	static const size_t lengths[] = { 0, 1, 4096, 16383, 16384, 16385, 32768, 100000, CHUNK };
	struct iovec pieces[SUM_PIECES];

	srandom(5);
	for (unsigned round = 0; round < 900; round++) {
		uint32_t kind = kinds[round % KINDS];
		size_t length = lengths[round / KINDS % (sizeof(lengths) / sizeof(lengths[0]))];
		struct sum whole = sum_of(kind, content, length), other;

		cut(length, pieces);
		other = sum_of_pieces(kind, pieces, SUM_PIECES);
		assert_true(sum_is_same(&whole, &other));
		other = sum_of_each(kind, content, length, blocks);
		assert_true(length == 0 || sum_is_same(&whole, &other));
		if (kind == DSFS_SUM_XXH3_64)
			assert_int_equal(dsfs_le64_get(*(dsfs_le64 *)whole.bytes), checksum_64(content, length));
	}
}

static void test_blocks(void **state)
{
	struct iovec pieces[SUM_PIECES];
	uint32_t length = CHUNK - 5;

	srandom(3);
	for (unsigned round = 0; round < 400; round++) {
		struct sum sum = sum_of_each(kinds[round % KINDS], content, length, blocks);
		size_t at = (size_t)random() % length;

		cut(length, pieces);
		CHECK_OK(sum_check_blocks(&sum, length, blocks, 0, pieces, SUM_PIECES, &err));
		content[at] ^= 4;
		CHECK_FAILS(sum_check_blocks(&sum, length, blocks, 0, pieces, SUM_PIECES, &err), -EBADMSG,
			    "block sum ");
		content[at] ^= 4;
	}
}

/* One block alone: the sums of the others need not be there, but those of a SHA-256 prove each other. */
static void test_one_block(void **state)
{
	for (size_t i = 0; i < KINDS; i++) {
		uint32_t kind = kinds[i], block = sum_block(kind), size = sum_size(kind);
		struct iovec third = { content + 2 * (size_t)block, block };
		struct sum sum = sum_of_each(kind, content, CHUNK, blocks);

		CHECK_OK(sum_check_blocks(&sum, CHUNK, blocks, 2, &third, 1, &err));
		CHECK_FAILS(sum_check_blocks(&sum, CHUNK, blocks, 3, &third, 1, &err), -EBADMSG, "block sum ");
		blocks[7 * size] ^= 1;
		if (kind == DSFS_SUM_SHA256)
			CHECK_FAILS(sum_check_blocks(&sum, CHUNK, blocks, 2, &third, 1, &err), -EBADMSG,
				    "block sums have the sum");
		else
			CHECK_OK(sum_check_blocks(&sum, CHUNK, blocks, 2, &third, 1, &err));
	}
}

/* Somebody writes other content, and a row for it. */
static void test_forged_row(void **state)
{
	struct sum sum = sum_of_each(DSFS_SUM_SHA256, content, CHUNK, blocks);
	struct iovec first = { content, DSFS_SUM_BLOCK };

	content[100] ^= 1;
	CHECK_OK(sha256_of(content, DSFS_SUM_BLOCK, blocks, &err));
	CHECK_FAILS(sum_check_blocks(&sum, CHUNK, blocks, 0, &first, 1, &err), -EBADMSG, "block sums have the sum");
	content[100] ^= 1;
}

static void test_order(void **state)
{
	struct sum a = sum_of(DSFS_SUM_SHA256, "a", 1), b = sum_of(DSFS_SUM_SHA256, "b", 1);
	struct sum x = sum_of(DSFS_SUM_XXH3_64, "a", 1);

	assert_int_equal(sum_compare(&a, &a), 0);
	assert_true((sum_compare(&a, &b) < 0) == (sum_compare(&b, &a) > 0));
	assert_true(sum_compare(&x, &a) < 0);
	assert_false(sum_is_same(&a, &x));
}

CHECK_MAIN_WITH(fill, NULL, cmocka_unit_test(test_kinds), cmocka_unit_test(test_known), cmocka_unit_test(test_tree),
		cmocka_unit_test(test_pieces), cmocka_unit_test(test_blocks), cmocka_unit_test(test_one_block),
		cmocka_unit_test(test_forged_row), cmocka_unit_test(test_order))
