/* SPDX-License-Identifier: MIT */
/* Block checksums: the head with every count and offset checked, the place of each chunk's row, rows against content.
 * */
#include <errno.h>
#include <stdlib.h>

#include "image/catalogue/block_sums.h"
#include "image/members/address.h"
#include "lib/check.h"
#include "lib/memory.h"
#include "lib/rows.h"

#define CHUNK     131072u
#define ROW       256u /* bytes, for such a chunk */
#define AT        DSFS_DATA_AT
#define CHUNKS    2000u
#define HEAD_BITS sizeof(struct dsfs_fine)

static uint8_t content[CHUNK];
static struct rows_chunk rows[CHUNKS];
static unsigned row_count;
static struct version version;
static struct memory memory;
static struct block_sums_layout layout;

static bool has_row(uint64_t chunk)
{
	return chunk % 2 == 0 || chunk % 7 == 0;
}

static int setup(void **state)
{
	static uint8_t contents[CHUNKS][16];
	uint8_t *bytes;

	for (size_t i = 0; i < CHUNK; i++)
		content[i] = (uint8_t)(i * 2654435761u >> 11);
	row_count = 0;
	for (uint64_t i = 0; i < CHUNKS; i++) {
		memset(contents[i], (int)(i % 251), sizeof(contents[i]));
		if (has_row(i))
			rows[row_count++] = (struct rows_chunk){ i, contents[i], (uint32_t)(1 + i % 16) };
	}
	rows[3] = (struct rows_chunk){ rows[3].number, content, CHUNK - 5 };
	version = (struct version){ .label = "v1", .chunk_log = 17,
				    .shape = { .chunk_count = CHUNKS, .chunk_sum = DSFS_SUM_XXH3_64 } };
	bytes = rows_section(&version, AT, rows, row_count);
	memory_init(&memory, AT + version.block_sums.length);
	memcpy(memory.bytes + AT, bytes, version.block_sums.length);
	free(bytes);
	block_sums_layout(DSFS_SUM_XXH3_64, 17, CHUNKS, row_count, &layout);
	return 0;
}

static int teardown(void **state)
{
	memory_done(&memory);
	version_free(&version);
	return 0;
}

static struct block_sums *load(void)
{
	struct block_sums *block_sums;

	CHECK_OK(block_sums_load(backing_of(&memory.source, NULL), &version, &block_sums, &err));
	assert_non_null(block_sums);
	return block_sums;
}

static void test_layout(void **state)
{
	struct block_sums_layout small;

	assert_int_equal(layout.row_bytes, ROW);
	assert_int_equal(layout.page_count, (row_count * ROW + 4095) / 4096);
	assert_int_equal(layout.head % DSFS_BLOCK, 0);
	assert_int_equal(layout.length, layout.head + layout.page_count * DSFS_BLOCK);
	block_sums_layout(DSFS_SUM_XXH3_64, 20, 1, 1, &small);
	assert_int_equal(small.row_bytes, 2048);
	assert_int_equal(small.length, 2 * DSFS_BLOCK);
	block_sums_layout(DSFS_SUM_XXH3_64, 12, 1, 0, &small);
	assert_int_equal(small.row_bytes, 8);
	assert_int_equal(small.length, DSFS_BLOCK);
}

static void test_every_row_is_found(void **state)
{
	struct block_sums *block_sums = load();
	struct block_sums_row row;
	uint64_t number = 0;

	for (uint64_t i = 0; i < CHUNKS; i++) {
		assert_int_equal(block_sums_find(block_sums, i, &row), has_row(i));
		if (!has_row(i))
			continue;
		assert_int_equal(row.page, number * ROW / DSFS_BLOCK);
		assert_int_equal(row.offset, number * ROW % DSFS_BLOCK);
		assert_int_equal(block_sums_page_address(block_sums, row.page), AT + layout.head +
				 row.page * DSFS_BLOCK);
		number++;
	}
	assert_int_equal(number, row_count);
	assert_false(block_sums_find(block_sums, CHUNKS, &row));
	assert_false(block_sums_find(block_sums, UINT64_MAX, &row));
	assert_false(block_sums_find(NULL, 0, &row));
	assert_true(block_sums_memory(block_sums) >= layout.head);
	assert_true(block_sums_memory(block_sums) <= block_sums_memory_most(&version));
	block_sums_close(block_sums);
}

static const struct sum xxh3 = { .kind = DSFS_SUM_XXH3_64 };

static void test_view(void **state)
{
	struct block_sums *block_sums = load();
	struct block_sums_view *view;
	const uint8_t *row;
	uint64_t calls;

	CHECK_OK(block_sums_view_new(block_sums, &memory.source, &view, &err));
	calls = memory.calls;
	for (unsigned i = 0; i < row_count; i++) {
		struct iovec piece = { (void *)(uintptr_t)rows[i].content, rows[i].length };

		assert_int_equal(block_sums_view_row(view, rows[i].number, &row, NULL), 1);
		CHECK_OK(sum_check_blocks(&xxh3, rows[i].length, row, 0, &piece, 1, &err));
	}
	assert_int_equal(memory.calls - calls, layout.page_count);
	assert_int_equal(block_sums_view_row(view, 1, &row, NULL), 0);
	memory.bytes[AT + layout.head + 5 * ROW] ^= 1; /* of page 0, which the view has not */
	CHECK_FAILS(block_sums_view_row(view, rows[0].number, &row, &err), -EBADMSG,
		    "block checksums: page 0 has the sum");
	memory.size = AT + layout.head + DSFS_BLOCK;
	CHECK_FAILS(block_sums_view_row(view, rows[20].number, &row, &err), -ENODATA, "past the end");
	block_sums_view_free(view);
	block_sums_close(block_sums);
}

static void refused(const char *text)
{
	struct block_sums *block_sums;

	CHECK_FAILS(block_sums_load(backing_of(&memory.source, NULL), &version, &block_sums, &err), -EBADMSG, text);
	assert_null(block_sums);
}

static void resign(void)
{
	rows_sign(&version, memory.bytes + AT, layout.head);
}

static void test_absent(void **state)
{
	struct block_sums *block_sums = (struct block_sums *)&version;

	version.block_sums.length = 0;
	CHECK_OK(block_sums_load(backing_of(&memory.source, NULL), &version, &block_sums, &err));
	assert_null(block_sums);
}

static void test_impossible_heads(void **state)
{
	struct dsfs_fine *disk = (struct dsfs_fine *)(memory.bytes + AT);
	struct dsfs_fine good = *disk;

	disk->magic[0] ^= 1, refused("bad magic"), *disk = good;
	disk->chunk_count = dsfs_le64_of(CHUNKS + 1), refused("the version has 2000"), *disk = good;
	disk->row_count = dsfs_le64_of(CHUNKS + 1), refused("rows for 2000 chunks"), *disk = good;
	disk->row_count = dsfs_le64_of(UINT64_MAX), refused("rows for 2000 chunks"), *disk = good;
	disk->row_count = dsfs_le64_of(row_count - 16), refused("its parts need"), *disk = good;
	version.block_sums.length -= DSFS_BLOCK, refused("its parts need"), version.block_sums.length += DSFS_BLOCK;
	disk->row_count = dsfs_le64_of(row_count - 1), refused("SHA-256"), resign(), refused("rows in the "
											     "bitmap"), *disk = good;
	memory.bytes[AT + HEAD_BITS] ^= 2, refused("SHA-256"), resign(), refused("rows in the bitmap");
	memory.bytes[AT + HEAD_BITS] ^= 2, resign(), block_sums_close(load());
	memory.bytes[AT + layout.head - 1] ^= 1, refused("SHA-256"); /* padding is covered too */
}

/* Bits behind the last chunk are counted, but belong to nobody. */
static void test_bits_behind_the_end(void **state)
{
	struct block_sums_row row;
	struct block_sums *block_sums;

	memory.bytes[AT + HEAD_BITS + 1998 / 8] ^= 1u << 1998 % 8;
	memory.bytes[AT + HEAD_BITS + 2001 / 8] ^= 1u << 2001 % 8;
	resign();
	block_sums = load();
	assert_false(block_sums_find(block_sums, 1998, &row));
	assert_false(block_sums_find(block_sums, 2001, &row));
	block_sums_close(block_sums);
}

static void test_short_heads(void **state)
{
	struct block_sums *block_sums;

	CHECK_FAILS(block_sums_open(memory.bytes + AT, 31, &version, &block_sums, &err), -EBADMSG,
		    "a head of 31 bytes");
	CHECK_FAILS(block_sums_open(memory.bytes + AT, layout.head - 1, &version, &block_sums, &err), -EBADMSG,
		    "a head of");
	for (uint64_t size = 0; size < layout.head; size += 512) {
		memory.size = AT + size;
		CHECK_FAILS(block_sums_load(backing_of(&memory.source, NULL), &version, &block_sums, &err), -ENODATA,
			    "past the end");
	}
}

static void test_failing_reads(void **state)
{
	struct block_sums *block_sums;

	for (uint64_t n = 1; n <= 2; n++) {
		memory.fail_at = memory.calls + n;
		CHECK_FAILS(block_sums_load(backing_of(&memory.source, NULL), &version, &block_sums, &err), -EIO,
			    "injected");
	}
	memory.fail_at = memory.calls + 3;
	block_sums_close(load());
}

int main(void)
{
#define BLOCK_SUMS_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		BLOCK_SUMS_TEST(test_layout), BLOCK_SUMS_TEST(test_every_row_is_found), BLOCK_SUMS_TEST(test_view),
		BLOCK_SUMS_TEST(test_absent), BLOCK_SUMS_TEST(test_impossible_heads),
		BLOCK_SUMS_TEST(test_bits_behind_the_end), BLOCK_SUMS_TEST(test_short_heads),
		BLOCK_SUMS_TEST(test_failing_reads)
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
