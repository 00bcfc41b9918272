/* SPDX-License-Identifier: MIT */
/* Chunks, extents, symlinks and xattrs of an index: what a read asks of it, and impossible records. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/bytes.h"
#include "image/catalogue/index_load.h"
#include "image/chunk.h"
#include "image/extent.h"
#include "image/inode.h"
#include "image/members/address.h"
#include "image/sums/checksum.h"
#include "lib/check.h"
#include "lib/section.h"

#define CHUNK   131072u
#define DATA_AT DSFS_DATA_AT

static const uint64_t sizes[1] = { 1u << 30 };
static struct section section;
static struct version version;

static struct index *open_section(void)
{
	struct index *index;

	CHECK_OK(index_load_fd(section_write(&section, &version), &version, sizes[0], NULL, &index, &err));
	return index;
}

/* f: data, hole, data of 1000 bytes. */
static struct index *open_three_chunks(struct inode *inode)
{
	struct index *index;

	section_init(&section);
	section_chunk(&section, DATA_AT, 1, CHUNK, DSFS_CODEC_RAW);
	section_chunk(&section, 0, 0, 0, DSFS_CODEC_RAW);
	section_chunk(&section, DATA_AT + CHUNK, 3, 1000, DSFS_CODEC_RAW);
	section_file(&section, 1, "f", 2 * CHUNK + 1000, 0);
	section.inodes[1].sparse = true;
	index = open_section();
	CHECK_OK(inode_get(index, 2, inode, &err));
	return index;
}

static void expect_piece(struct extent_cursor *cursor, uint64_t number, uint32_t skip, uint32_t want)
{
	struct extent_piece piece;
	struct error err = { 0 };

	assert_int_equal(extent_next(cursor, &piece, &err), 1);
	assert_int_equal(piece.chunk.number, number);
	assert_int_equal(piece.skip, skip);
	assert_int_equal(piece.want, want);
}

static void expect_end(struct extent_cursor *cursor)
{
	struct extent_piece piece;
	struct error err = { 0 };

	assert_int_equal(extent_next(cursor, &piece, &err), 0);
}

static void test_extent_map(void **state)
{
	struct extent_cursor cursor;
	struct inode inode;
	struct index *index = open_three_chunks(&inode);
	uint64_t size;

	extent_map(&cursor, index, &inode, 0, 1u << 20, &size);
	assert_int_equal(size, 2 * CHUNK + 1000);
	expect_piece(&cursor, 0, 0, CHUNK);
	expect_piece(&cursor, 1, 0, CHUNK);
	expect_piece(&cursor, 2, 0, 1000);
	expect_end(&cursor);
	extent_map(&cursor, index, &inode, 5, 10, &size);
	expect_piece(&cursor, 0, 5, 10);
	expect_end(&cursor);
	extent_map(&cursor, index, &inode, CHUNK - 1, 2, &size);
	expect_piece(&cursor, 0, CHUNK - 1, 1);
	expect_piece(&cursor, 1, 0, 1);
	expect_end(&cursor);
	extent_map(&cursor, index, &inode, 2 * CHUNK + 999, 4096, &size);
	assert_int_equal(size, 1);
	expect_piece(&cursor, 2, 999, 1);
	extent_map(&cursor, index, &inode, 2 * CHUNK + 1000, 4096, &size);
	assert_int_equal(size, 0);
	expect_end(&cursor);
	extent_map(&cursor, index, &inode, UINT64_MAX, UINT64_MAX, &size);
	assert_int_equal(size, 0);
	index_close(index);
}

static void test_holes(void **state)
{
	struct error err = { 0 };
	struct inode inode;
	struct index *index = open_three_chunks(&inode);

	assert_int_equal(extent_seek(index, &inode, 0, true, &err), CHUNK);
	assert_int_equal(extent_seek(index, &inode, 0, false, &err), 0);
	assert_int_equal(extent_seek(index, &inode, CHUNK + 7, false, &err), 2 * CHUNK);
	assert_int_equal(extent_seek(index, &inode, CHUNK + 7, true, &err), CHUNK + 7);
	assert_int_equal(extent_seek(index, &inode, 2 * CHUNK, true, &err), 2 * CHUNK + 1000);
	assert_int_equal(extent_seek(index, &inode, 2 * CHUNK + 1000, false, &err), -ENXIO);
	assert_int_equal(extent_blocks(index, &inode), (CHUNK + 1000 + 511) / 512);
	index_close(index);
}

#define LARGE (9 * CHUNK) /* more than 1 MiB: nine chunks */

/* A version with 20 holes as its chunks, to which files are added. */
static void begin_files(void)
{
	section_init(&section);
	for (int i = 0; i < 20; i++)
		section_chunk(&section, 0, 0, 0, DSFS_CODEC_RAW);
}

static void files_refused(const char *reason)
{
	struct index *index;
	int fd = section_write(&section, &version);

	CHECK_FAILS(index_load_fd(fd, &version, sizes[0], NULL, &index, &err), -EBADMSG, reason);
	close(fd);
}

/* Whatever looks at the chunks of all files looks at no more than there are: small ones may share theirs, large ones
 * may not. 289 files that had 4,000,000 holes in common took minutes. */
static void test_large_files_share_nothing(void **state)
{
	begin_files();
	section_file(&section, 1, "a", LARGE, 0);
	section_file(&section, 1, "b", 8 * CHUNK, 9); /* 1 MiB */
	section_file(&section, 1, "c", 8 * CHUNK, 9);
	section_file(&section, 1, "d", LARGE, 9);
	index_close(open_section());
	begin_files();
	section_file(&section, 1, "a", LARGE, 0);
	section_file(&section, 1, "b", LARGE, 0);
	files_refused("inode 3: its chunks begin at 0, those of large files before it end at 9");
	begin_files();
	section_file(&section, 1, "a", LARGE, 0);
	section_file(&section, 1, "b", LARGE, 8);
	files_refused("inode 3: its chunks begin at 8, those of large files before it end at 9");
	begin_files();
	section_file(&section, 1, "a", LARGE, 9);
	section_file(&section, 1, "b", LARGE, 0);
	files_refused("inode 3: its chunks begin at 0, those of large files before it end at 18");
}

/* A large file may have many names, and each of them is asked for: no record is looked at for it. */
static void test_blocks_are_counted_once(void **state)
{
	struct inode inode;
	struct index *index;

	begin_files();
	section_chunk(&section, DATA_AT, 1, CHUNK, DSFS_CODEC_RAW);
	section_chunk(&section, 0, 0, 0, DSFS_CODEC_RAW);
	section_file(&section, 1, "a", LARGE, 0);
	section_file(&section, 1, "b", LARGE + 1000, 12); /* with the chunk of data, and a short hole at its end */
	section.inodes[1].sparse = section.inodes[2].sparse = true;
	index = open_section();
	index->chunks = (struct span){ 0 };
	CHECK_OK(inode_get(index, 2, &inode, &err));
	assert_int_equal(extent_blocks(index, &inode), 0);
	CHECK_OK(inode_get(index, 3, &inode, &err));
	assert_int_equal(extent_blocks(index, &inode), CHUNK / 512);
	index_close(index);
}

/* A file of one chunk of length bytes with this record cannot be read. */
static void chunk_refused(uint64_t length, uint64_t address, uint32_t stored, uint8_t codec)
{
	struct chunk chunk;
	struct inode inode;
	struct index *index;

	section_init(&section);
	section_chunk(&section, address, 1, stored, codec);
	section_file(&section, 1, "f", length, 0);
	section.blob_length = 100;
	index = open_section();
	CHECK_OK(inode_get(index, 2, &inode, &err));
	CHECK_FAILS(chunk_get(index, &inode, 0, &chunk, &err), -EBADMSG, "impossible record");
	index_close(index);
}

static void test_impossible_chunks(void **state)
{
	chunk_refused(1000, DATA_AT, 999, DSFS_CODEC_RAW);
	chunk_refused(1000, DATA_AT, 1000, DSFS_CODEC_ZSTD);
	chunk_refused(1000, DATA_AT, 0, DSFS_CODEC_ZSTD);
	chunk_refused(1000, DATA_AT, 500, 2);
	chunk_refused(1000, 0, 1000, DSFS_CODEC_RAW);
	chunk_refused(1000, DATA_AT - 1, 1000, DSFS_CODEC_RAW);
	chunk_refused(1000, (1u << 30) - 999, 1000, DSFS_CODEC_RAW);
	chunk_refused(1000, 1u << 30, 1000, DSFS_CODEC_RAW);
	chunk_refused(1000, address_make(1, DATA_AT), 1000, DSFS_CODEC_RAW);
	chunk_refused(1000, address_make(0, (UINT64_C(1) << 56) - 1), 1000, DSFS_CODEC_RAW);
	chunk_refused(101, address_make(DSFS_IN_INDEX, 0), 101, DSFS_CODEC_RAW);
	chunk_refused(50, address_make(DSFS_IN_INDEX, 51), 50, DSFS_CODEC_RAW);
	chunk_refused(50, address_make(DSFS_IN_INDEX, 0), 20, DSFS_CODEC_ZSTD);
}

static void test_verify_in_pieces(void **state)
{
	uint8_t content[1000];
	struct chunk chunk = { .length = sizeof(content) };
	struct iovec pieces[3] = { { content, 1 }, { content + 1, 700 }, { content + 701, 299 } };

	for (size_t i = 0; i < sizeof(content); i++)
		content[i] = (uint8_t)(i * 7);
	chunk.sum = sum_of(DSFS_SUM_XXH3_64, content, sizeof(content));
	CHECK_OK(chunk_verify(&chunk, pieces, 3, &err));
	for (size_t i = 0; i < sizeof(content); i++) {
		content[i] ^= 0x10;
		CHECK_FAILS(chunk_verify(&chunk, pieces, 3, &err), -EBADMSG, "chunk sum");
		content[i] ^= 0x10;
	}
}

static void test_compressed_chunk(void **state)
{
	static uint8_t content[CHUNK], stored[CHUNK], out[CHUNK];
	struct chunk chunk = { .address = DATA_AT, .length = CHUNK, .codec = DSFS_CODEC_ZSTD };
	struct codec *codec = codec_new();
	size_t length;

	for (size_t i = 0; i < CHUNK; i++)
		content[i] = (uint8_t)(i / 100);
	chunk.sum = sum_of(DSFS_SUM_XXH3_64, content, CHUNK);
	CHECK_OK(codec_compress(codec, span_of(content, CHUNK), stored, CHUNK, &length, &err));
	assert_in_range(length, 1, CHUNK / 4);
	chunk.stored = (uint32_t)length;
	CHECK_OK(chunk_decode(&chunk, codec, stored, out, &err));
	assert_memory_equal(out, content, CHUNK);
	CHECK_OK(codec_compress(codec, span_of(content, CHUNK), stored, 10, &length, &err));
	assert_int_equal(length, 0); /* does not fit: stays raw */
	CHECK_OK(codec_compress(codec, span_of(content, CHUNK), stored, CHUNK, &length, &err));
	chunk.stored--; /* a torn frame */
	CHECK_FAILS(chunk_decode(&chunk, codec, stored, out, &err), -EBADMSG, "zstd frame");
	chunk.stored++;
	chunk.length--; /* a frame that holds more than it should */
	CHECK_FAILS(chunk_decode(&chunk, codec, stored, out, &err), -EBADMSG, "zstd frame");
	CHECK_OK(codec_compress(codec, span_of(content, CHUNK - 1), stored, CHUNK, &length, &err));
	CHECK_FAILS(codec_decompress(codec, stored, length, out, CHUNK, &err), -EBADMSG, "expected 131072");
	codec_free(codec);
}

static int count_xattr(void *argument, struct span name, struct span value)
{
	unsigned *count = argument;

	assert_in_range(name.size, 1, DSFS_NAME_MAX);
	assert_in_range(value.size, 0, DSFS_XATTRS_MAX);
	++*count;
	return 0;
}

static void put_le32(uint8_t *at, uint32_t n)
{
	dsfs_le32 v = dsfs_le32_of(n);

	memcpy(at, &v, sizeof(v));
}

static void make_xattrs(uint32_t count, uint32_t length, uint32_t name, uint32_t value)
{
	section_init(&section);
	section_file(&section, 1, "f", 0, 0);
	section.class_table[1].xattrs = dsfs_le64_of(1);
	put_le32(section.blob, count);
	put_le32(section.blob + 4, length);
	put_le32(section.blob + 8, name);
	put_le32(section.blob + 12, value);
	memcpy(section.blob + 16, "user.acat", 9);
	section.blob_length = 25;
}

static void section_refused(const char *reason)
{
	struct index *index;
	int fd = section_write(&section, &version);

	CHECK_FAILS(index_load_fd(fd, &version, sizes[0], NULL, &index, &err), -EBADMSG, reason);
	close(fd);
}

static void xattrs_refused(uint32_t count, uint32_t length, uint32_t name, uint32_t value)
{
	make_xattrs(count, length, name, value);
	section_refused("xattr set at 0: damaged");
}

static void test_xattrs(void **state)
{
	struct index *index;
	struct inode inode;
	unsigned count = 0;

	make_xattrs(1, 25, 6, 3);
	index = open_section();
	CHECK_OK(inode_get(index, 2, &inode, &err));
	CHECK_OK(inode_xattrs(index, &inode, count_xattr, &count, &err));
	assert_int_equal(count, 1);
	index_close(index);
	xattrs_refused(1, 25, 6, 4);
	xattrs_refused(1, 26, 6, 3);
	xattrs_refused(1, 24, 6, 3);
	xattrs_refused(2, 25, 6, 3);
	xattrs_refused(1, 7, 6, 3);
	xattrs_refused(1, 25, 0, 3);
	make_xattrs(0, 25, 6, 3);
	section_refused("xattr set at 0: no attributes, expected at least one");
	make_xattrs(0, 8, 6, 3);
	section_refused("xattr set at 0: no attributes, expected at least one");
	xattrs_refused(1, 25, UINT32_MAX, 3);
	xattrs_refused(1, 25, 6, UINT32_MAX);
	xattrs_refused(UINT32_MAX, 25, 6, 3);
	make_xattrs(1, 25, 6, 3);
	memcpy(section.blob + 16, "user\0\0", 6);
	section_refused("xattr set at 0: damaged");
	make_xattrs(1, 25, 6, 3);
	section.class_table[1].xattrs = dsfs_le64_of(UINT64_MAX);
	section_refused("damaged");
}

/* Attributes that the kernel would believe, if root copied them. */
static void test_foreign_xattrs(void **state)
{
	static const char *const foreign[] = {
		"security.capability", "system.posix_acl_access", "trusted.overlay.opaque", "USER.a", "user.",
		"usera", "u",
	};
	struct index *index;

	for (unsigned i = 0; i < sizeof(foreign) / sizeof(*foreign); i++) {
		section_init(&section);
		section_file(&section, 1, "f", 0, 0);
		section_xattr(&section, 1, "user.a", 1);
		section_xattr(&section, 2, foreign[i], 1);
		section_refused("is not a user attribute");
	}
	section_init(&section);
	section_xattr(&section, 1, foreign[0], 1);
	section_refused("xattr set at 0: 'security.capability' is not a user attribute");
	section_init(&section);
	section_xattr(&section, 1, "user.a", 1);
	index = open_section();
	index_close(index);
}

/* Work grows with the index, so nothing is read twice. */
static void test_xattr_sets_overlap(void **state)
{
	section_init(&section);
	section_file(&section, 1, "f", 0, 0);
	section_xattr(&section, 1, "user.a", 1);
	section.class_table[1].xattrs = section.class_table[0].xattrs;
	section_refused("class 1: its xattr set at 0 begins before 22");
	section.class_table[1].xattrs = dsfs_le64_of(22);
	section_refused("class 1: its xattr set at 21 begins before 22");
	section_init(&section);
	section_xattr(&section, 1, "user.a", 2);
	section_refused("xattr set at 0: its names are not ascending");
}

static void test_zero_bytes(void **state)
{
	uint8_t bytes[100] = { 0 };

	for (size_t length = 0; length <= sizeof(bytes); length++) {
		assert_true(bytes_are_zero(bytes, length));
		for (size_t i = 0; i < length; i++) {
			bytes[i] = 1;
			assert_false(bytes_are_zero(bytes, length));
			bytes[i] = 0;
		}
	}
}

static void test_times(void **state)
{
	static const int64_t times[] = { INODE_TIME_MIN, -1, 0, 1700000000, INODE_TIME_MAX };
	struct inode inode;
	struct index *index;

	for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++) {
		section_init(&section);
		section.inodes[0].mtime = times[i];
		section.inodes[0].mtime_nsec = 999999999;
		index = open_section();
		CHECK_OK(inode_get(index, 1, &inode, &err));
		assert_int_equal(inode.mtime, times[i]);
		assert_int_equal(inode.mtime_nsec, 999999999);
		index_close(index);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_extent_map),	  cmocka_unit_test(test_holes),
		cmocka_unit_test(test_large_files_share_nothing), cmocka_unit_test(test_blocks_are_counted_once),
		cmocka_unit_test(test_impossible_chunks), cmocka_unit_test(test_verify_in_pieces),
		cmocka_unit_test(test_compressed_chunk),  cmocka_unit_test(test_xattrs),
		cmocka_unit_test(test_foreign_xattrs), cmocka_unit_test(test_xattr_sets_overlap),
		cmocka_unit_test(test_zero_bytes),	  cmocka_unit_test(test_times)
	};

	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	section_sums = DSFS_SUM_SHA256; /* the same with longer records */
	return failed + cmocka_run_group_tests(tests, NULL, NULL);
}
