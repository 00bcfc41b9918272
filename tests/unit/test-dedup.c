/* SPDX-License-Identifier: MIT */
/* The indexes on a volume are only a hint: records that no packer writes, and chunks that cannot be
 * read, are not shared, and nothing is read for a record that cannot be right. */
#include <errno.h>
#include <stdbool.h>
#include <unistd.h>

#include "content/dedup.h"
#include "content/key.h"
#include "image/catalogue/index_load.h"
#include "image/members/address.h"
#include "image/sums/checksum.h"
#include "layout/share.h"
#include "lib/check.h"
#include "lib/memory.h"
#include "lib/section.h"

#define CHUNK_LOG 12u
#define CHUNK     (1u << CHUNK_LOG)
#define SIZE      (4u << 20)
#define AT        (DSFS_DATA_AT + CHUNK) /* of the content below */
#define CLAIMED   (UINT64_C(1) << 30)    /* size of the volume, as far as records are concerned */
#define HUGE      (100u << 20)
#define LARGE     (BATCH_BYTES / CHUNK + 1) /* chunks of a file that is not shared as a whole */

static struct temp *temp;
static struct memory memory;
static struct dedup dedup;
static struct dedup_view *view;
static struct batch batch;
static uint8_t content[CHUNK];

/* A record with the sum of the content. */
static struct dsfs_chunk record(uint64_t address, uint32_t stored, uint8_t codec)
{
	return (struct dsfs_chunk){ .address = dsfs_le64_of(address),
				    .sum = dsfs_le64_of(checksum_64(content, CHUNK)),
				    .stored = dsfs_le32_of(stored | (uint32_t)codec << DSFS_STORED_BITS) };
}

static uint64_t dedup_records(void)
{
	return dedup.records.length / sizeof(struct dsfs_chunk);
}

/* A volume with one chunk of content. */
static void begin(void)
{
	CHECK_OK(temp_open("/tmp", &temp, &err));
	memory_init(&memory, SIZE);
	for (uint32_t i = 0; i < CHUNK; i++)
		content[i] = (uint8_t)(i * 7 + i / 251);
	memcpy(memory.bytes + AT, content, CHUNK);
	CHECK_OK(dedup_open(&dedup, temp, (struct backing){ &memory.source, NULL, CLAIMED }, CHUNK_LOG,
			    DSFS_SUM_XXH3_64, &err));
	view = dedup_view_new(&dedup);
	assert_non_null(view);
}

static void end(void)
{
	dedup_view_free(view);
	dedup_close(&dedup);
	memory_done(&memory);
	temp_close(temp);
}

/* The content as the only chunk of a file that was read. */
static struct batch_chunk *file_of_content(void)
{
	struct sum sum = sum_of(DSFS_SUM_XXH3_64, content, CHUNK);
	struct table_key key = key_of_file(CHUNK, &(uint64_t){ key_of_sum(&sum) }, 1);

	batch.items[0] = (struct item){
		.kind = ITEM_FILE, .length = CHUNK,
		.result = { .chunk_count = 1, .key = { key.low, key.high } }
	};
	batch.chunks[0] = (struct batch_chunk){
		.sum = sum, .content = content, .bytes = content, .length = CHUNK, .stored = CHUNK
	};
	return &batch.chunks[0];
}

/* Records that cannot be of this content, or lie nowhere. */
static const struct {
	uint64_t address;
	uint32_t stored;
	uint8_t codec;
} impossible[] = {
	{ AT, HUGE, DSFS_CODEC_ZSTD },
	{ AT, HUGE, DSFS_CODEC_RAW },
	{ AT, CHUNK, DSFS_CODEC_ZSTD },
	{ AT, CHUNK - 1, DSFS_CODEC_RAW },
	{ AT, 100, 2 },
	{ AT, 0, DSFS_CODEC_ZSTD },
	{ (uint64_t)DSFS_IN_INDEX << DSFS_ADDRESS_BITS | AT, CHUNK, DSFS_CODEC_RAW },
};

#define IMPOSSIBLE (sizeof(impossible) / sizeof(impossible[0]))

/* As the first record, where the table leads. */
static void put_record(uint64_t address, uint32_t stored, uint8_t codec)
{
	struct dsfs_chunk disk = record(address, stored, codec);
	struct checksum_key key = batch.items[0].result.key;

	CHECK_OK(mapped_append(&dedup.records, &disk, sizeof(disk), NULL, &err));
	CHECK_OK(table_set(&dedup.files, (struct table_key){ key.low, key.high }, 0, &err));
}

static void test_reader_finds_content(void **state)
{
	struct batch_chunk *chunk;

	begin();
	chunk = file_of_content();
	put_record(AT, CHUNK, DSFS_CODEC_RAW);
	dedup_find(view, &batch, &batch.items[0]);
	assert_true(chunk->duplicate_of == DEDUP_RECORD);
	chunk->duplicate_of = 0;
	memory.bytes[AT + CHUNK - 1] ^= 1;
	dedup_find(view, &batch, &batch.items[0]);
	assert_int_equal(chunk->duplicate_of, 0);
	end();
}

static void test_reader_refuses_records(void **state)
{
	for (size_t i = 0; i < IMPOSSIBLE; i++) {
		struct batch_chunk *chunk;

		begin();
		chunk = file_of_content();
		put_record(impossible[i].address, impossible[i].stored, impossible[i].codec);
		dedup_find(view, &batch, &batch.items[0]);
		assert_int_equal(chunk->duplicate_of, 0);
		assert_int_equal(memory.calls, 0);
		end();
	}
}

/* --- the layout --- */

static struct allocator allocator;
static struct writer *writer;
static struct records records;
static struct share share;

static void begin_share(void)
{
	begin();
	CHECK_OK(allocator_open(&allocator, NULL, NULL, DSFS_SEGMENT_LOG_MIN, SIZE, &err));
	CHECK_OK(writer_open(&memory.source, &allocator, temp, &writer, &err));
	CHECK_OK(records_open(&records, temp, CHUNK_LOG, DSFS_SUM_XXH3_64, &(struct override){ 0 }, &err));
	CHECK_OK(share_open(&share, &dedup, &records, writer, temp, &err));
}

static void end_share(void)
{
	share_close(&share);
	records_close(&records);
	writer_close(writer);
	allocator_close(&allocator);
	end();
}

static int is_same(const struct batch_chunk *chunk)
{
	struct error err = { 0 };

	return share_is_same(&share, DEDUP_RECORD, chunk, &err);
}

static void test_share_refuses_records(void **state)
{
	const uint8_t *bytes;

	for (size_t i = 0; i < IMPOSSIBLE; i++) {
		begin_share();
		file_of_content();
		put_record(impossible[i].address, impossible[i].stored, impossible[i].codec);
		assert_int_equal(is_same(&batch.chunks[0]), 0);
		assert_int_equal(memory.calls, 0);
		CHECK_FAILS(writer_view(writer, AT, HUGE, &bytes, &err), -EBADMSG, "expected at most 1048576");
		end_share();
	}
}

/* A block that the device cannot read costs its chunk and not the publish. */
static void test_share_survives_unreadable(void **state)
{
	const struct batch_chunk *chunk;

	begin_share();
	chunk = file_of_content();
	put_record(AT, CHUNK, DSFS_CODEC_RAW);
	assert_int_equal(is_same(chunk), 1);
	memory.fail_at = memory.calls + 1;
	assert_int_equal(is_same(chunk), 0);
	assert_int_equal(memory.calls, memory.fail_at);
	assert_int_equal(is_same(chunk), 1);
	end_share();
}

/* A record may lead to bytes that come right behind what was written so far: they are read from the volume, not past a
 * buffer. */
static void test_view_behind_what_was_written(void **state)
{
	static uint8_t bytes[1u << DSFS_CHUNK_LOG_MAX];
	uint64_t address = 0, last;
	const uint8_t *found;

	CHECK_OK(temp_open("/tmp", &temp, &err));
	memory_init(&memory, 3 * WRITER_BUFFER);
	CHECK_OK(allocator_open(&allocator, NULL, NULL, DSFS_SEGMENT_LOG_MIN, 3 * WRITER_BUFFER, &err));
	CHECK_OK(writer_open(&memory.source, &allocator, temp, &writer, &err));
	memset(bytes, 1, sizeof(bytes));
	while (address < 2 * WRITER_BUFFER - sizeof(bytes)) {
		CHECK_OK(writer_reserve(writer, sizeof(bytes), SPACE_BLOCK, &err));
		CHECK_OK(writer_append(writer, bytes, sizeof(bytes), &address, &err));
	}
	last = 2 * WRITER_BUFFER - DSFS_BLOCK; /* the last block of a full buffer */
	CHECK_OK(writer_view(writer, last, DSFS_BLOCK, &found, &err));
	assert_int_equal(found[0], 1);
	CHECK_OK(writer_view(writer, last, sizeof(bytes), &found, &err));
	assert_memory_equal(found + DSFS_BLOCK, memory.bytes + 2 * WRITER_BUFFER, sizeof(bytes) - DSFS_BLOCK);
	writer_close(writer);
	allocator_close(&allocator);
	memory_done(&memory);
	temp_close(temp);
}

/* --- loading --- */

static struct section section;
static struct version version;

/* A file of LARGE chunks, all with possible records but for number 1, which is the caller's. */
static int add_large(uint64_t address, uint32_t stored, uint8_t codec, struct error *err)
{
	const uint64_t sizes[1] = { CLAIMED };
	struct previous_index previous = { 0 };
	struct index *index;
	int r;

	section_init(&section);
	section.chunk_log = CHUNK_LOG;
	section.blob_length = CHUNK;
	for (uint64_t i = 0; i < LARGE; i++)
		section_chunk(&section, i == 1 ? address : AT, 1000 + i, i == 1 ? stored : CHUNK,
			      i == 1 ? codec : DSFS_CODEC_RAW);
	section_file(&section, 1, "large", (uint64_t)LARGE * CHUNK, 0);
	r = index_load_fd(section_write(&section, &version), &version, sizes[0], NULL, &index, err);
	if (r < 0)
		return r;
	previous.index = *index;
	r = dedup_add(&dedup, &previous, err);
	index_close(index);
	return r;
}

/* A run takes the next record without a question, so none comes in before all of the file's were checked. */
static void test_bad_records_stay_out(void **state)
{
	begin();
	CHECK_FAILS(add_large(AT, HUGE, DSFS_CODEC_ZSTD, &err), -EBADMSG, "chunk 1: impossible record");
	assert_int_equal(dedup_records(), 0);
	CHECK_OK(add_large((uint64_t)DSFS_IN_INDEX << DSFS_ADDRESS_BITS, CHUNK, DSFS_CODEC_RAW, &err));
	assert_int_equal(dedup_records(), 0);
	assert_int_equal(dedup.pieces.count, 0);
	CHECK_OK(add_large(AT, CHUNK, DSFS_CODEC_RAW, &err));
	assert_int_equal(dedup_records(), LARGE);
	assert_int_equal(dedup.pieces.count, LARGE);
	end();
}

#define TABLE_KEYS 1100000u /* five runs, four of them merged */

static struct table_key table_key_of(uint64_t i)
{
	return (struct table_key){ i, i % 3 };
}

static void check_table(const struct table *table, uint64_t added)
{
	uint64_t value;

	for (uint64_t i = 0; i < TABLE_KEYS; i++) {
		assert_true(table_find(table, table_key_of(i), &value));
		assert_int_equal(value, i % 5 ? i : i + added);
		assert_false(table_find(table, (struct table_key){ i, 3 }, &value));
	}
}

/* Far more keys than are kept in memory: each is found, with its last value, and no other. */
static void test_table_of_many(void **state)
{
	struct table table;

	CHECK_OK(temp_open("/tmp", &temp, &err));
	CHECK_OK(table_open(&table, temp, &err));
	for (uint64_t i = 0; i < TABLE_KEYS; i++)
		CHECK_OK(table_set(&table, table_key_of(i), i, &err));
	assert_int_equal(table.run_count, 2);
	check_table(&table, 0);
	for (uint64_t i = 0; i < TABLE_KEYS; i += 5)
		CHECK_OK(table_set(&table, table_key_of(i), i + 7, &err));
	check_table(&table, 7);
	CHECK_OK(table_settle(&table, &err));
	assert_int_equal(table.run_count, 1);
	assert_int_equal(table.runs[0].count, TABLE_KEYS);
	check_table(&table, 7);
	assert_true(table_size(TABLE_KEYS) >= table.runs[0].count * sizeof(struct table_slot));
	assert_true(table_size(UINT64_MAX) >= UINT64_C(1) << 40);
	table_close(&table);
	temp_close(temp);
}

/* A version on the volume whose large files share their chunks would come into a new index once for each of them. */
static void test_shared_large_files(void **state)
{
	const struct backing backing = { &memory.source, NULL, SIZE };
	struct extent place = { AT, 0 };
	struct previous_index previous;
	int fd;

	begin();
	for (unsigned shared = 0; shared < 2; shared++) {
		section_init(&section);
		section.chunk_log = CHUNK_LOG;
		for (uint64_t i = 0; i < 2 * LARGE; i++)
			section_chunk(&section, 0, 0, 0, DSFS_CODEC_RAW);
		section_file(&section, 1, "a", (uint64_t)LARGE * CHUNK, 0);
		section_file(&section, 1, "b", (uint64_t)LARGE * CHUNK, shared ? 1 : LARGE);
		fd = section_write(&section, &version);
		assert_int_equal(pread(fd, memory.bytes + AT, version.index.length, 0), version.index.length);
		close(fd);
		place.length = version.index.length;
		version.index.extents = (struct extent_list){ &place, 1 };
		if (shared)
			CHECK_FAILS(previous_index_open(temp, backing, &version, false, &previous, &err),
				    -EBADMSG,
				    "inode 3: its chunks begin at 1, those of large files before it end at 257");
		else
			CHECK_OK(previous_index_open(temp, backing, &version, false, &previous, &err));
		if (!shared)
			previous_index_close(&previous);
	}
	end();
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reader_finds_content),
		cmocka_unit_test(test_reader_refuses_records),
		cmocka_unit_test(test_share_refuses_records),
		cmocka_unit_test(test_share_survives_unreadable),
		cmocka_unit_test(test_view_behind_what_was_written),
		cmocka_unit_test(test_bad_records_stay_out),
		cmocka_unit_test(test_table_of_many),
		cmocka_unit_test(test_shared_large_files),
	};

	return cmocka_run_group_tests_name("dedup", tests, NULL, NULL);
}
