/* SPDX-License-Identifier: MIT */
/* Reads of what lies on several members: which copy is read, and what happens when one of them fails or is wrong. */
#include <errno.h>
#include <stdlib.h>

#include "image/catalogue/index_load.h"
#include "image/sums/checksum.h"
#include "image/sums/sha256.h"
#include "lib/check.h"
#include "lib/rows.h"
#include "lib/section.h"
#include "read/park.h"
#include "read/read.h"

#define CHUNK    131072u
#define SEGMENT  (1u << DSFS_SEGMENT_LOG_MIN)
#define MEMBERS  3u
#define SIZE     (4 * SEGMENT)
#define FIRST    (2 * SEGMENT - CHUNK) /* the file: a chunk at the end of a segment, one at the beginning of the next */
#define READS    8u
#define NO_FAULT 0

static uint8_t devices[MEMBERS][SIZE];
static int faults[MEMBERS];   /* what reads of a member give: NO_FAULT, or a negative errno */
static uint32_t seen[READS];  /* members that were read, in turn */
static unsigned seen_count, fell_back;
static uint32_t lost; /* the member of which the reader said so */
static uint32_t wrong; /* a bit for each member that had wrong bytes, or none */
static int64_t result;
static int told, parked; /* negative errno: how the read failed, how the way to the device did */

static struct section section;
static struct version version;
static struct reader reader;
static struct reader_counters counters;
static struct read_op op;

/* Group 0: member 0, copies on 1 and 2. Group 1: the next segment of member 0, a copy on 2. */
static struct member list[MEMBERS] = { { .uuid = "a", .size = SIZE }, { .uuid = "b", .size = SIZE },
				       { .uuid = "c", .size = SIZE } };
static struct member_group groups[2] = {
	{ .birth = 1, .tail = SEGMENT, .first_column = 0, .kind = DSFS_GROUP_COPIES, .data = 1, .redundant = 2 },
	{ .birth = 1, .tail = SEGMENT, .first_column = 3, .kind = DSFS_GROUP_COPIES, .data = 1, .redundant = 1 },
};
#define ON(member, segment) ((uint64_t)(member) << DSFS_ADDRESS_BITS | (uint64_t)(segment) * SEGMENT)
static uint64_t columns[5] = { ON(0, 1), ON(1, 1), ON(2, 3), ON(0, 2), ON(2, 2) };
static struct member_column places[5] = { { ON(0, 1), 0, 0 }, { ON(0, 2), 1, 0 }, { ON(1, 1), 0, 1 },
					  { ON(2, 2), 1, 1 }, { ON(2, 3), 0, 2 } };
static const struct members members = { .segment_log = DSFS_SEGMENT_LOG_MIN, .list = list, .count = MEMBERS,
					.groups = groups, .group_count = 2, .columns = columns, .column_count = 5,
					.places = places };

static void device_read(struct engine *engine, struct io_read *read)
{
	uint64_t at = read->offset;

	assert_true(seen_count < READS && read->member < MEMBERS);
	seen[seen_count++] = read->member;
	for (int i = 0; !faults[read->member] && i < read->iov_count; i++) {
		assert_true(at + read->iov[i].iov_len <= SIZE);
		memcpy(read->iov[i].iov_base, devices[read->member] + at, read->iov[i].iov_len);
		at += read->iov[i].iov_len;
	}
	read->done(read, faults[read->member] ? faults[read->member] : (int)(at - read->offset));
}

static void done(struct read_op *ended, int64_t bytes)
{
	result = bytes;
}

static void failed(struct read_op *which, const struct chunk *chunk, const struct error *err)
{
	told = err->code;
}

static void on_fall_back(struct read_op *which, const struct error *err)
{
	fell_back++;
}

static void path_failed(struct read_op *which, int code, bool is_parked)
{
	parked = is_parked ? code : 0;
}

static void copy_failed(struct read_op *which, uint32_t member, int code)
{
	assert_int_equal(code, faults[member]);
	lost = member;
}

/* The place is that of the chunk in the member's own column of the first group, or of a page in the second. */
static void copy_wrong(struct read_op *which, const struct reader_place *place, const struct error *reason)
{
	assert_int_not_equal(reason->code, 0);
	assert_int_equal(place->offset / SEGMENT, !place->chunk ? 2 : place->member == 2 ? 3 : 1);
	assert_int_equal(place->length, place->chunk ? place->chunk->stored : DSFS_BLOCK);
	if (place->chunk)
		assert_int_equal(place->offset % SEGMENT, place->chunk->address % SEGMENT);
	wrong |= 1u << place->member;
}

/* The bytes in the data column of each group lie at the same offsets of its other columns. */
static void make_devices(void)
{
	for (size_t i = 0; i < 2 * SEGMENT; i++)
		devices[0][SEGMENT + i] = (uint8_t)(i * 2654435761u >> 13);
	memcpy(devices[1] + SEGMENT, devices[0] + SEGMENT, SEGMENT);
	memcpy(devices[2] + 3 * SEGMENT, devices[0] + SEGMENT, SEGMENT);
	memcpy(devices[2] + 2 * SEGMENT, devices[0] + 2 * SEGMENT, SEGMENT);
}

static struct index *make_index(void)
{
	struct index *index;
	uint64_t first;

	section_init(&section);
	first = section_chunk(&section, FIRST, checksum_64(devices[0] + FIRST, CHUNK), CHUNK, DSFS_CODEC_RAW);
	section_chunk(&section, FIRST + CHUNK, checksum_64(devices[0] + FIRST + CHUNK, CHUNK), CHUNK, DSFS_CODEC_RAW);
	section_file(&section, 1, "file", 2 * CHUNK, first);
	CHECK_OK(index_load_fd(section_write(&section, &version), &version, SIZE, &members, &index, &err));
	return index;
}

static int open_reader(void **state)
{
	static const struct reader_options options = { .verify = true, .wait = true, .deadline = 300 };
	static const struct file_geometry geometry[MEMBERS] = { { .logical_block = 512, .size = SIZE },
								{ .logical_block = 512, .size = SIZE },
								{ .logical_block = 512, .size = SIZE } };
	static const struct reader_events events = { failed, on_fall_back, path_failed, copy_failed,
						     copy_wrong, NULL, NULL };
	static const struct engine_ops ops = { .read = device_read };
	static struct engine engine = { .ops = &ops };
	struct reader_setup setup = { .options = &options, .geometry = geometry, .events = &events,
				      .counters = &counters };

	make_devices();
	memset(faults, 0, sizeof(faults));
	seen_count = fell_back = 0;
	lost = UINT32_MAX;
	wrong = 0;
	result = told = parked = 0;
	counters = (struct reader_counters){ 0 };
	CHECK_OK(chunk_cache_new(CHUNK, &setup.cache, &err));
	CHECK_OK(page_cache_new(&setup.pages, &err));
	CHECK_OK(reader_open(&reader, &setup, &err));
	reader.engine = &engine;
	op.request = (struct read_request){ .version = { .index = make_index(), .key = 1 }, .size = CHUNK,
					    .room = READ_MAX, .done = done,
					    .payload = aligned_alloc(DSFS_BLOCK, READ_MAX),
					    .scratch = aligned_alloc(DSFS_BLOCK, READ_SCRATCH) };
	CHECK_OK(inode_get(op.request.version.index, 2, &op.request.inode, &err));
	return 0;
}

static int close_reader(void **state)
{
	reader_close(&reader);
	chunk_cache_free(reader.setup.cache);
	page_cache_free(reader.setup.pages);
	index_close((struct index *)op.request.version.index);
	free(op.request.payload);
	free(op.request.scratch);
	return 0;
}

static void damage(uint32_t member, uint64_t at)
{
	devices[member][at] ^= 1;
}

static void check_seen(unsigned count, const uint32_t *expected)
{
	assert_int_equal(seen_count, count);
	assert_memory_equal(seen, expected, count * sizeof(*expected));
	seen_count = 0;
}
#define CHECK_SEEN(...) \
	check_seen(sizeof((uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t), (const uint32_t[]){ __VA_ARGS__ })

static void check_content(void)
{
	assert_int_equal(result, op.request.size);
	for (uint64_t i = 0; i < op.request.size; i++)
		assert_int_equal(op.request.payload[i],
				 (uint8_t)((FIRST - SEGMENT + op.request.offset + i) * 2654435761u >> 13));
}

static void test_the_first_is_read(void **state)
{
	read_begin(&reader, &op);
	check_content();
	CHECK_SEEN(0);
}

static void test_another_one_at_once(void **state)
{
	faults[0] = -EIO;
	read_begin(&reader, &op);
	check_content();
	CHECK_SEEN(0, 1);
	assert_int_equal(lost, 0);
	assert_int_equal(wrong, 1 << 0); /* EIO may be about a block, */
	wrong = 0;
	faults[0] = -ENOLINK; /* and this is not */
	read_begin(&reader, &op);
	check_content();
	CHECK_SEEN(0, 1);
	assert_int_equal(lost, 0);
	assert_int_equal(wrong, 0);
	lost = UINT32_MAX;
	faults[0] = NO_FAULT;
	damage(0, FIRST + 5);
	faults[1] = -ENODATA;
	read_begin(&reader, &op);
	assert_int_equal(result, CHUNK);
	assert_memory_equal(op.request.payload, devices[2] + 4 * SEGMENT - CHUNK, CHUNK);
	CHECK_SEEN(0, 1, 2);
	assert_int_equal(counters.checksum_failures, 1);
	assert_int_equal(counters.failures, 0);
	assert_int_equal(lost, UINT32_MAX); /* ENODATA is about a block */
	assert_int_equal(wrong, 1 << 0 | 1 << 1);
	assert_int_equal(parked, 0);
}

static void test_the_last_one_fails_it(void **state)
{
	damage(0, FIRST);
	damage(1, FIRST);
	damage(2, 4 * SEGMENT - CHUNK);
	read_begin(&reader, &op);
	assert_int_equal(result, -EBADMSG);
	assert_int_equal(told, -EBADMSG);
	CHECK_SEEN(0, 1, 2);
}

/* One is wrong, the others may come back. */
static void test_a_lost_member_is_waited_for(void **state)
{
	damage(0, FIRST);
	faults[1] = faults[2] = -ENODEV;
	read_begin(&reader, &op);
	assert_int_equal(result, 0);
	assert_int_equal(parked, -ENODEV);
	CHECK_SEEN(0, 1, 2);
	read_retry(&reader);
	assert_int_equal(result, 0);
	CHECK_SEEN(0, 1, 2);
	faults[1] = NO_FAULT;
	read_retry(&reader);
	assert_int_equal(result, CHUNK);
	CHECK_SEEN(0, 1);
}

/* Neighbours on one member are not neighbours on the others. */
static void test_two_segments(void **state)
{
	op.request.size = 2 * CHUNK;
	read_begin(&reader, &op);
	check_content();
	CHECK_SEEN(0, 0);
	faults[0] = -ENODEV;
	read_begin(&reader, &op);
	check_content();
	CHECK_SEEN(0, 0, 1, 2);
}

static void test_one_copy_alone(void **state)
{
	for (uint32_t copy = 1; copy <= MEMBERS; copy++) {
		op.request.copy = copy;
		read_begin(&reader, &op);
		check_content();
		CHECK_SEEN(copy - 1);
	}
	damage(2, 4 * SEGMENT - 1);
	read_begin(&reader, &op);
	assert_int_equal(result, -EBADMSG);
	CHECK_SEEN(2, 2); /* once more, in vain */
}

/* A part of the chunk: its blocks and the page with their sums. */
static void test_blocks_and_their_sums(void **state)
{
	const struct rows_chunk row = { 0, devices[0] + FIRST, CHUNK };
	struct block_sums *block_sums;
	uint8_t *bytes;

	bytes = rows_section(&version, 2 * SEGMENT + 2 * CHUNK, &row, 1);
	memcpy(devices[0] + 2 * SEGMENT + 2 * CHUNK, bytes, version.block_sums.length);
	memcpy(devices[2] + 2 * SEGMENT + 2 * CHUNK, bytes, version.block_sums.length);
	CHECK_OK(block_sums_open(bytes, version.block_sums.length, &version, &block_sums, &err));
	damage(0, address_offset(block_sums_page_address(block_sums, 0)));
	damage(0, FIRST + 3 * DSFS_BLOCK);
	op.request.version.block_sums = block_sums;
	op.request.offset = 3 * DSFS_BLOCK;
	op.request.size = 100;
	read_begin(&reader, &op);
	assert_int_equal(result, 100);
	assert_memory_equal(op.request.payload, devices[1] + FIRST + 3 * DSFS_BLOCK, 100);
	CHECK_SEEN(0, 0, 2, 1);
	assert_int_equal(fell_back, 0);
	read_begin(&reader, &op); /* the page was right in the end, and is kept */
	assert_int_equal(result, 100);
	CHECK_SEEN(0, 1);
	block_sums_close(block_sums);
	extent_list_free(&version.block_sums.extents);
	version.block_sums.length = 0;
}

/* The devices as a source. */
static int source_of_devices(struct source *source, uint32_t member, uint64_t offset, void *buffer, size_t length,
			     struct error *err)
{
	if (faults[member])
		return error_set(err, faults[member], "no way to it");
	memcpy(buffer, devices[member] + offset, length);
	return 0;
}

static uint64_t size_of_device(struct source *source, uint32_t member)
{
	return SIZE;
}

static const struct source_ops source_ops = { .read = source_of_devices, .size = size_of_device };
static struct source source = { .ops = &source_ops };

static void check_index(int code)
{
	struct index *index = NULL;

	if (code)
		CHECK_FAILS(index_load(backing_of(&source, &members), &version, &index, &err), code, "");
	else
		CHECK_OK(index_load(backing_of(&source, &members), &version, &index, &err));
	if (index) /* the section as the packer made it */
		assert_memory_equal(index->chunks.base, op.request.version.index->chunks.base, index->chunks.size);
	index_close(index);
}

static void test_an_index(void **state)
{
	const struct index *index = op.request.version.index;
	struct extent extent = { SEGMENT, index->map_length };

	memcpy(devices[0] + SEGMENT, index->map, index->map_length);
	memcpy(devices[1] + SEGMENT, index->map, index->map_length);
	memcpy(devices[2] + 3 * SEGMENT, index->map, index->map_length);
	version.index.extents = (struct extent_list){ &extent, 1 };
	version.shape.chunk_sum = DSFS_SUM_XXH3_64;
	CHECK_OK(sha256_of(index->map, index->map_length, version.index.sha256, &err));
	check_index(0);
	faults[0] = -EIO;
	check_index(0);
	damage(1, SEGMENT);
	check_index(0);
	faults[0] = NO_FAULT;
	damage(0, SEGMENT);
	check_index(0);
	damage(2, 3 * SEGMENT);
	check_index(-EBADMSG);
	faults[0] = faults[1] = faults[2] = -EIO;
	check_index(-EIO);
	version.index.extents = (struct extent_list){ 0 };
}

CHECK_MAIN(cmocka_unit_test_setup_teardown(test_the_first_is_read, open_reader, close_reader),
	   cmocka_unit_test_setup_teardown(test_another_one_at_once, open_reader, close_reader),
	   cmocka_unit_test_setup_teardown(test_the_last_one_fails_it, open_reader, close_reader),
	   cmocka_unit_test_setup_teardown(test_a_lost_member_is_waited_for, open_reader, close_reader),
	   cmocka_unit_test_setup_teardown(test_two_segments, open_reader, close_reader),
	   cmocka_unit_test_setup_teardown(test_one_copy_alone, open_reader, close_reader),
	   cmocka_unit_test_setup_teardown(test_blocks_and_their_sums, open_reader, close_reader),
	   cmocka_unit_test_setup_teardown(test_an_index, open_reader, close_reader))
