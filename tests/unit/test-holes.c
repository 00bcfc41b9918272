/* SPDX-License-Identifier: MIT */
/* Lists of long holes: every chunk is found, the dump is that of the same file with records,
 * and what a hostile publisher writes is refused. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/program/interrupt.h"
#include "image/catalogue/dump.h"
#include "image/catalogue/index_load.h"
#include "image/chunk.h"
#include "image/chunk_walk.h"
#include "image/extent.h"
#include "image/hole_list.h"
#include "lib/check.h"
#include "lib/section.h"

#define CHUNK 131072u
#define AT    DSFS_DATA_AT

/* Two chunks of data, a hole of 300, one of data, a hole of 200, and 1000 bytes. */
#define CHUNKS 504u
#define SIZE   ((uint64_t)(CHUNKS - 1) * CHUNK + 1000)

static const uint64_t sizes[1] = { 1u << 30 };
static struct section section;
static struct version version;

static bool is_data(uint64_t i)
{
	return i < 2 || i == 302 || i == CHUNKS - 1;
}

static void add_chunk(uint64_t i, uint64_t number)
{
	section_chunk(&section, AT + number * CHUNK, 7 + number, i == CHUNKS - 1 ? 1000 : CHUNK, DSFS_CODEC_RAW);
}

static void add_hole(uint64_t first, uint64_t total)
{
	section_chunk(&section, 0, first, (uint32_t)total, 0);
}

static int open_section(uint64_t features, struct index **ret, struct error *err)
{
	int fd = section_write(&section, &version), r;

	version.feature_incompat = features;
	r = index_load_fd(fd, &version, sizes[0], NULL, ret, err);
	if (r < 0)
		close(fd);
	return r;
}

/* With one hole's record in front, so that no number is right by chance: records 1 to 4, head 5, holes 6 and 7. */
static void make_list(void)
{
	section_init(&section);
	section_chunk(&section, 0, 0, 0, DSFS_CODEC_RAW);
	for (uint64_t i = 0, number = 0; i < CHUNKS; i++)
		if (is_data(i))
			add_chunk(i, number++);
	add_hole(2, 0);
	add_hole(2, 300);
	add_hole(303, 500);
	section_file(&section, 1, "f", SIZE, 5 | DSFS_WHERE_HOLES);
	section.inodes[1].sparse = true;
}

static void make_records(void)
{
	section_init(&section);
	for (uint64_t i = 0, number = 0; i < CHUNKS; i++)
		if (is_data(i))
			add_chunk(i, number++);
		else
			section_chunk(&section, 0, 0, 0, DSFS_CODEC_RAW);
	section_file(&section, 1, "f", SIZE, 0);
	section.inodes[1].sparse = true;
}

static struct index *open_list(struct inode *inode)
{
	struct index *index;

	make_list();
	CHECK_OK(open_section(DSFS_VERSION_INCOMPAT_HOLES, &index, &err));
	CHECK_OK(inode_get(index, 2, inode, &err));
	return index;
}

static void test_every_chunk(void **state)
{
	struct inode inode;
	struct index *index = open_list(&inode);
	uint64_t number = 1, run, left = 0;
	struct chunk chunk;

	assert_int_equal(inode.where, 1);
	assert_int_equal(inode_record_count(index, &inode), 4);
	for (uint64_t i = 0; i < CHUNKS; i++) {
		CHECK_OK(chunk_get_run(index, &inode, i, &chunk, &run, &err));
		assert_int_equal(chunk.length, i == CHUNKS - 1 ? 1000 : CHUNK);
		assert_int_equal(chunk_is_hole(&chunk), !is_data(i));
		if (is_data(i)) {
			assert_int_equal(chunk.number, number++);
			assert_int_equal(chunk.sum.bytes[0], 5 + number);
			assert_int_equal(run, 1);
			left = 0;
		} else {
			left = left ? left - 1 : i == 2 ? 300 : 200;
			assert_int_equal(run, left);
		}
	}
	CHECK_FAILS(chunk_get(index, &inode, CHUNKS, &chunk, &err), -EINVAL, "past its end");
	index_close(index);
}

static void check_step(struct chunk_walk *walk, uint64_t position, uint64_t run)
{
	assert_int_equal(chunk_walk_next(walk, NULL), 1);
	assert_int_equal(walk->inode.ordinal, 2);
	assert_int_equal(walk->position, position);
	assert_int_equal(walk->run, run);
	assert_int_equal(walk->damage.code, 0);
	assert_int_equal(chunk_is_hole(&walk->chunk), !is_data(position));
}

/* A hole is one step, a directory and an empty file are none, and a malformed record is a step like others. */
static void test_walk(void **state)
{
	struct chunk_walk walk = { 0 };
	struct index *index;

	make_list();
	section_file(&section, 1, "g", 0, 0);
	section_file(&section, 1, "h", 2000, section_chunk(&section, AT, 1, 1999, DSFS_CODEC_RAW));
	section_file(&section, 1, "i", 2000, section_chunk(&section, AT, 1, 2000, DSFS_CODEC_RAW));
	CHECK_OK(open_section(DSFS_VERSION_INCOMPAT_HOLES, &index, &err));
	walk.index = index;
	check_step(&walk, 0, 1);
	check_step(&walk, 1, 1);
	check_step(&walk, 2, 300);
	check_step(&walk, 302, 1);
	check_step(&walk, 303, 200);
	check_step(&walk, 503, 1);
	assert_int_equal(chunk_walk_next(&walk, NULL), 1);
	assert_int_equal(walk.inode.ordinal, 4);
	assert_int_equal(walk.damage.code, -EBADMSG);
	assert_int_equal(walk.chunk.stored, 0);
	assert_int_equal(chunk_walk_next(&walk, NULL), 1);
	assert_int_equal(walk.inode.ordinal, 5);
	assert_int_equal(walk.damage.code, 0);
	assert_int_equal(walk.chunk.stored, 2000);
	assert_int_equal(chunk_walk_next(&walk, NULL), 0);
	index_close(index);
}

static void test_seek_and_blocks(void **state)
{
	struct error err = { 0 };
	struct inode inode;
	struct index *index = open_list(&inode);

	assert_int_equal(extent_seek(index, &inode, 0, true, &err), 2 * CHUNK);
	assert_int_equal(extent_seek(index, &inode, 2 * CHUNK, false, &err), 302 * CHUNK);
	assert_int_equal(extent_seek(index, &inode, 200 * CHUNK + 5, true, &err), 200 * CHUNK + 5);
	assert_int_equal(extent_seek(index, &inode, 200 * CHUNK + 5, false, &err), 302 * CHUNK);
	assert_int_equal(extent_seek(index, &inode, 302 * CHUNK + 9, true, &err), 303 * CHUNK);
	assert_int_equal(extent_seek(index, &inode, SIZE - 1, true, &err), SIZE);
	assert_int_equal(extent_blocks(index, &inode), (3 * CHUNK + 1000 + 511) / 512);
	assert_int_equal(chunk_run_bytes(index, &inode, 303, 200), 200 * CHUNK);
	assert_int_equal(chunk_run_bytes(index, &inode, 303, 201), 200 * CHUNK + 1000);
	index_close(index);
}

static void test_reads_across(void **state)
{
	struct inode inode;
	struct index *index = open_list(&inode);
	struct extent_cursor cursor;
	struct extent_piece piece;
	struct error err = { 0 };
	uint64_t size;

	extent_map(&cursor, index, &inode, 302 * CHUNK - 1, CHUNK + 2, &size);
	assert_int_equal(size, CHUNK + 2);
	assert_int_equal(extent_next(&cursor, &piece, &err), 1);
	assert_true(chunk_is_hole(&piece.chunk) && piece.skip == CHUNK - 1 && piece.want == 1);
	assert_int_equal(extent_next(&cursor, &piece, &err), 1);
	assert_true(piece.chunk.number == 3 && piece.skip == 0 && piece.want == CHUNK);
	assert_int_equal(extent_next(&cursor, &piece, &err), 1);
	assert_true(chunk_is_hole(&piece.chunk) && piece.skip == 0 && piece.want == 1);
	assert_int_equal(extent_next(&cursor, &piece, &err), 0);
	index_close(index);
}

/* A version is the same whether its holes have records or not. */
static void test_same_digest(void **state)
{
	uint8_t listed[32], recorded[32];
	struct index *index;

	make_list();
	CHECK_OK(open_section(DSFS_VERSION_INCOMPAT_HOLES, &index, &err));
	CHECK_OK(dump_digest(index, listed, &err));
	index_close(index);
	make_records();
	CHECK_OK(open_section(0, &index, &err));
	CHECK_OK(dump_digest(index, recorded, &err));
	index_close(index);
	assert_memory_equal(listed, recorded, sizeof(listed));
}

/* The hole at the end has the short chunk. */
static void test_hole_at_the_end(void **state)
{
	struct inode inode;
	struct index *index;
	struct chunk chunk;

	section_init(&section);
	add_hole(1, 0);
	add_hole(0, 20);
	section_file(&section, 1, "f", 19 * CHUNK + 1, 0 | DSFS_WHERE_HOLES);
	section.inodes[1].sparse = true;
	CHECK_OK(open_section(DSFS_VERSION_INCOMPAT_HOLES, &index, &err));
	CHECK_OK(inode_get(index, 2, &inode, &err));
	CHECK_OK(chunk_get(index, &inode, 19, &chunk, &err));
	assert_true(chunk_is_hole(&chunk) && chunk.length == 1);
	assert_int_equal(extent_blocks(index, &inode), 0);
	index_close(index);
}

static void refused(const char *reason)
{
	struct index *index;

	CHECK_FAILS(open_section(DSFS_VERSION_INCOMPAT_HOLES, &index, &err), -EBADMSG, reason);
}

static void where_refused(uint64_t where, uint64_t size, bool sparse)
{
	make_list();
	section.inodes[1].where = where | DSFS_WHERE_HOLES;
	section.inodes[1].size = size;
	section.inodes[1].sparse = sparse;
	refused("impossible list");
}

static void test_impossible_lists(void **state)
{
	struct index *index;

	where_refused(8, SIZE, true);                             /* no such record */
	where_refused(UINT64_C(1) << 61, SIZE, true);             /* nor such a place */
	where_refused(0, SIZE, true);                             /* no hole in the list */
	where_refused(5, SIZE, false);                            /* not said to be sparse */
	where_refused(5, DSFS_SHARED_MAX, true);                  /* small: it could share its list */
	where_refused(5, UINT64_MAX, true);                       /* larger than a file can be */
	where_refused(5, 499 * CHUNK, true);                      /* fewer chunks than are in holes */
	where_refused(5, SIZE + 2 * CHUNK, true);                 /* more records than there are before */
	make_list();
	section_record(&section, 5)->sum = dsfs_le64_of(3);
	refused("impossible list"); /* behind the last record */
	make_list();
	section_record(&section, 5)->sum = dsfs_le64_of(UINT64_MAX);
	refused("impossible list");
	make_list();
	CHECK_FAILS(open_section(0, &index, &err), -EBADMSG, "impossible mode"); /* a version without lists */
}

static void hole_refused(unsigned record, uint64_t address, uint64_t first, uint32_t total, const char *reason)
{
	make_list();
	*section_record(&section, record) =
		(struct dsfs_chunk){ dsfs_le64_of(address), dsfs_le64_of(first), dsfs_le32_of(total) };
	refused(reason);
}

static void test_impossible_holes(void **state)
{
	hole_refused(5, AT, 2, 0, "impossible hole 0 of 2: address=0x100000"); /* a move would write to it */
	hole_refused(6, AT, 2, 300, "impossible hole 1 of 2: address=0x100000");
	hole_refused(6, 0, 2, 0, "impossible hole 1 of 2: address=0 first=2 total=0"); /* empty */
	hole_refused(6, 0, 4, 300, "impossible hole 2 of 2");                          /* overlap */
	hole_refused(6, 0, 3, 300, "impossible hole 2 of 2");                          /* one hole in two */
	hole_refused(6, 0, 400, 100, "impossible hole 2 of 2");                        /* not in order */
	hole_refused(6, 0, UINT64_MAX, 300, "impossible hole 1 of 2");                 /* past the end */
	hole_refused(6, 0, UINT64_MAX - 100, 300, "impossible hole 1 of 2");           /* and around */
	hole_refused(6, 0, 2, 500, "impossible hole 2 of 2");                          /* the second is empty */
	hole_refused(6, 0, 2, 501, "impossible hole 2 of 2");                          /* or less */
	hole_refused(7, 0, 305, 500, "impossible hole 2 of 2");                        /* past the end by one */
}

/* A dump has a line for each chunk: holes do not cost a publisher anything, so their number has a limit. */
static void test_too_many_holes(void **state)
{
	uint64_t chunks = DSFS_HOLES_MAX / 2;
	struct index *index;

	for (unsigned more = 0; more < 2; more++) {
		section_init(&section);
		add_hole(1, 0);
		add_hole(0, chunks);
		add_hole(1, 0);
		add_hole(0, chunks + more);
		section_file(&section, 1, "a", chunks * CHUNK, 0 | DSFS_WHERE_HOLES);
		section_file(&section, 1, "b", (chunks + more) * CHUNK, 2 | DSFS_WHERE_HOLES);
		section.inodes[1].sparse = section.inodes[2].sparse = true;
		if (more) {
			refused("inode 3: 268435457 chunks in long holes up to here, expected at most 268435456");
		} else {
			CHECK_OK(open_section(DSFS_VERSION_INCOMPAT_HOLES, &index, &err));
			index_close(index);
		}
	}
}

/* Comes last: a signal that came stays. */
static void test_signal(void **state)
{
	uint64_t chunks = DSFS_HOLES_MAX;
	uint8_t digest[32];
	struct index *index;

	section_init(&section);
	add_hole(1, 0);
	add_hole(0, chunks);
	section_file(&section, 1, "a", chunks * CHUNK, 0 | DSFS_WHERE_HOLES);
	section.inodes[1].sparse = true;
	CHECK_OK(open_section(DSFS_VERSION_INCOMPAT_HOLES, &index, &err));
	interrupt_install();
	raise(SIGTERM);
	CHECK_FAILS(dump_digest(index, digest, &err), -EINTR, "interrupted");
	index_close(index);
}

static void test_lists_are_not_shared(void **state)
{
	make_list();
	section_file(&section, 1, "g", SIZE, 5 | DSFS_WHERE_HOLES);
	section.inodes[2].sparse = true;
	refused("inode 3: its chunks begin at 1, those of large files before it end at 8");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_chunk),	  cmocka_unit_test(test_walk),
		cmocka_unit_test(test_seek_and_blocks),
		cmocka_unit_test(test_reads_across),	  cmocka_unit_test(test_same_digest),
		cmocka_unit_test(test_hole_at_the_end),	  cmocka_unit_test(test_impossible_lists),
		cmocka_unit_test(test_impossible_holes),  cmocka_unit_test(test_too_many_holes),
		cmocka_unit_test(test_lists_are_not_shared)
	};
	const struct CMUnitTest last[] = { cmocka_unit_test(test_signal) };

	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	section_sums = DSFS_SUM_SHA256; /* the same with longer records */
	failed += cmocka_run_group_tests(tests, NULL, NULL);
	return failed + cmocka_run_group_tests(last, NULL, NULL);
}
