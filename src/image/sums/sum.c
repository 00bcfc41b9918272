/* SPDX-License-Identifier: MIT */
/* A SHA-256 sum of more than a block is that of the blocks' sums, so a block can be proved without the others. */
#include "image/sums/sum.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/text/format.h"
#include "image/sums/checksum.h"
#include "image/sums/sha256.h"

#define SUM_BLOCKS ((1u << DSFS_CHUNK_LOG_MAX) / DSFS_SUM_BLOCK) /* most blocks of a SHA-256 sum */

/* --- kinds --- */

static const struct sum_kind {
	const char *name;
	uint32_t size, block;
} sum_kinds[] = {
	[DSFS_SUM_XXH3_64] = { "xxh3-64", sizeof(dsfs_le64), DSFS_BLOCK },
	[DSFS_SUM_SHA256] = { "sha256", SHA256_SIZE, DSFS_SUM_BLOCK },
};

#define SUM_KINDS (sizeof(sum_kinds) / sizeof(sum_kinds[0]))

bool sum_is_known(uint32_t kind)
{
	return kind < SUM_KINDS && sum_kinds[kind].name;
}

const char *sum_name(uint32_t kind)
{
	return sum_is_known(kind) ? sum_kinds[kind].name : "unknown";
}

int sum_find(const char *name, uint32_t *ret, struct error *err)
{
	for (uint32_t kind = DSFS_SUM_XXH3_64; kind < SUM_KINDS; kind++) {
		if (!strcmp(name, sum_kinds[kind].name)) {
			*ret = kind;
			return 0;
		}
	}
	return error_set(err, -EINVAL, "'%s' is not %s or %s", name, sum_name(DSFS_SUM_XXH3_64),
			 sum_name(DSFS_SUM_SHA256));
}

int sum_check_kind(uint32_t kind, const char *label, struct error *err)
{
	if (sum_is_known(kind))
		return 0;
	return error_set(err, -EOPNOTSUPP, "version '%s': chunk sums of kind %" PRIu32 ", this release knows %d and %d",
			 label, kind, DSFS_SUM_XXH3_64, DSFS_SUM_SHA256);
}

uint32_t sum_size(uint32_t kind)
{
	return kind < SUM_KINDS ? sum_kinds[kind].size : 0;
}

uint32_t sum_block(uint32_t kind)
{
	return sum_kinds[kind].block;
}

uint32_t sum_block_count(uint32_t kind, uint64_t length)
{
	return (uint32_t)((length + sum_block(kind) - 1) / sum_block(kind));
}

uint32_t sum_blocks_size(uint32_t kind, uint64_t length)
{
	return sum_block_count(kind, length) * sum_size(kind);
}

/* --- sums --- */

static struct sum sum_of_number(uint64_t number)
{
	dsfs_le64 disk = dsfs_le64_of(number);

	return sum_at(DSFS_SUM_XXH3_64, &disk);
}

/* Makes the sum of content from those of its blocks. Empty content has one. */
static struct sum sum_join(const uint8_t *blocks, uint32_t count)
{
	struct sum sum = { .kind = DSFS_SUM_SHA256 };

	if (count <= 1)
		return sum_at(DSFS_SUM_SHA256, blocks);
	sha256_of_pieces(&(struct iovec){ (void *)(uintptr_t)blocks, (size_t)count * SHA256_SIZE }, 1, sum.bytes);
	return sum;
}

/* Cuts the next block off the pieces into parts, and returns how many there are. */
static int sum_cut(struct iovec *left, int *count, size_t room, struct iovec parts[SUM_PIECES])
{
	int n = 0;

	while (room && *count) {
		size_t length = left->iov_len < room ? left->iov_len : room;

		parts[n++] = (struct iovec){ left->iov_base, length };
		room -= length;
		left->iov_base = (uint8_t *)left->iov_base + length;
		left->iov_len -= length;
		if (!left->iov_len && --*count)
			memmove(left, left + 1, (size_t)*count * sizeof(*left));
	}
	return n;
}

static size_t sum_length(const struct iovec *pieces, int count)
{
	size_t length = 0;

	for (int i = 0; i < count; i++)
		length += pieces[i].iov_len;
	return length;
}

/* Computes the SHA-256 of blocks that are not all in one place. */
static struct sum sum_of_cut(const struct iovec *pieces, int count)
{
	uint8_t blocks[SUM_BLOCKS * SHA256_SIZE];
	struct iovec left[SUM_PIECES], parts[SUM_PIECES];
	uint32_t number = sum_block_count(DSFS_SUM_SHA256, sum_length(pieces, count));

	assert(count <= SUM_PIECES && number <= SUM_BLOCKS);
	memcpy(left, pieces, (size_t)count * sizeof(*pieces));
	for (uint32_t i = 0; i == 0 || i < number; i++) {
		int n = sum_cut(left, &count, DSFS_SUM_BLOCK, parts);

		sha256_of_pieces(parts, n, blocks + (size_t)i * SHA256_SIZE);
	}
	return sum_join(blocks, number);
}

struct sum sum_of_pieces(uint32_t kind, const struct iovec *pieces, int count)
{
	return kind == DSFS_SUM_SHA256 ? sum_of_cut(pieces, count) : sum_of_number(checksum_64_pieces(pieces, count));
}

struct sum sum_of(uint32_t kind, const void *content, size_t length)
{
	return sum_of_pieces(kind, &(struct iovec){ (void *)(uintptr_t)content, length }, 1);
}

struct sum sum_of_each(uint32_t kind, const void *content, size_t length, void *blocks)
{
	uint32_t block = sum_block(kind), size = sum_size(kind), count = 0;
	const uint8_t *bytes = content;

	for (size_t at = 0; at < length; at += block, count++) {
		struct sum sum = sum_of(kind, bytes + at, length - at < block ? length - at : block);

		memcpy((uint8_t *)blocks + (size_t)count * size, sum.bytes, size);
	}
	return kind == DSFS_SUM_SHA256 ? sum_join(blocks, count) : sum_of(kind, content, length);
}

/* Checks the sums of all blocks by the sum of the content, where that is made of them. */
static int sum_check_row(const struct sum *sum, uint64_t length, const uint8_t *blocks, struct error *err)
{
	char is[SUM_TEXT_SIZE], should_be[SUM_TEXT_SIZE];
	struct sum found;

	if (sum->kind != DSFS_SUM_SHA256)
		return 0;
	found = sum_join(blocks, sum_block_count(sum->kind, length));
	if (sum_is_same(&found, sum))
		return 0;
	return error_set(err, -EBADMSG, "block sums have the sum %s, expected %s", sum_text(&found, is),
			 sum_text(sum, should_be));
}

int sum_check_blocks(const struct sum *sum, uint64_t length, const void *blocks, uint32_t first,
		     const struct iovec *pieces, int count, struct error *err)
{
	uint32_t block = sum_block(sum->kind), size = sum_size(sum->kind);
	struct iovec left[SUM_PIECES], parts[SUM_PIECES];
	char is[SUM_TEXT_SIZE], should_be[SUM_TEXT_SIZE];
	struct sum found, expected;

	if (sum_check_row(sum, length, blocks, err) < 0)
		return -EBADMSG;
	memcpy(left, pieces, (size_t)count * sizeof(*pieces));
	for (uint32_t i = first; count; i++) {
		int n = sum_cut(left, &count, block, parts);

		found = sum_of_pieces(sum->kind, parts, n);
		expected = sum_at(sum->kind, (const uint8_t *)blocks + (size_t)i * size);
		if (!sum_is_same(&found, &expected))
			return error_set(err, -EBADMSG, "block sum %s, expected %s", sum_text(&found, is),
					 sum_text(&expected, should_be));
	}
	return 0;
}

struct sum sum_at(uint32_t kind, const void *bytes)
{
	struct sum sum = { .kind = (uint8_t)kind };

	memcpy(sum.bytes, bytes, sum_size(kind));
	return sum;
}

bool sum_is_same(const struct sum *a, const struct sum *b)
{
	return sum_compare(a, b) == 0;
}

int sum_compare(const struct sum *a, const struct sum *b)
{
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	return memcmp(a->bytes, b->bytes, sizeof(a->bytes));
}

const char *sum_text(const struct sum *sum, char text[SUM_TEXT_SIZE])
{
	uint32_t size = sum_size(sum->kind);
	uint8_t shown[DSFS_SUM_MAX];

	for (uint32_t i = 0; i < size; i++)
		shown[i] = sum->bytes[sum->kind == DSFS_SUM_XXH3_64 ? size - 1 - i : i];
	format_hex(shown, size, text);
	return text;
}
