/* SPDX-License-Identifier: MIT */
/* A program without FUSE reads a file of a volume: an index, an engine, a reader. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "image/catalogue/index_load.h"
#include "image/sums/checksum.h"
#include "lib/check.h"
#include "lib/section.h"
#include "read/read.h"

#define SIZE 200000u /* two chunks */
#define CHUNK 131072u
#define AT DSFS_DATA_AT
#define DEVICE (AT + 2 * CHUNK)

static uint8_t device[DEVICE];
static int fd;
static int64_t result;
static int blamed; /* what failed() is to be told, */
static uint64_t named; /* and a bit for each chunk of a list that it was told of */

static void done(struct read_op *op, int64_t bytes)
{
	result = bytes;
}

static void add_done(struct read_op *op, int64_t bytes)
{
	assert_int_equal(bytes, 10000);
	result += bytes;
}

static void failed(struct read_op *op, const struct chunk *chunk, const struct error *err)
{
	assert_non_null(chunk);
	assert_int_equal(err->code, blamed);
	assert_false(named >> chunk->number & 1);
	named |= op->request.chunks ? UINT64_C(1) << chunk->number : 0;
}

/* A device whose reads somebody ends. */
static void cancel(struct engine *engine, struct io_read *read)
{
	read->done(read, -ECANCELED);
}

static struct section section;

/* One file: inode 2. */
static struct index *make_index(void)
{
	static const uint64_t sizes[1] = { DEVICE };
	struct version version = { 0 };
	struct index *index;
	uint64_t first;

	section_init(&section);
	first = section_chunk(&section, AT, checksum_64(device + AT, CHUNK), CHUNK, DSFS_CODEC_RAW);
	section_chunk(&section, AT + CHUNK, checksum_64(device + AT + CHUNK, SIZE - CHUNK), SIZE - CHUNK,
		      DSFS_CODEC_RAW);
	section_file(&section, 1, "file", SIZE, first);
	CHECK_OK(index_load_fd(section_write(&section, &version), &version, sizes[0], NULL, &index, &err));
	return index;
}

static void make_device(void)
{
	char name[] = "/tmp/test-reader-XXXXXX";

	fd = mkstemp(name);
	assert_true(fd >= 0);
	unlink(name);
	for (size_t i = 0; i < DEVICE; i++)
		device[i] = (uint8_t)(i * 2654435761u >> 13);
	assert_int_equal(pwrite(fd, device, DEVICE, 0), DEVICE);
}

static void read_file(struct reader *reader, struct read_op *op)
{
	bool readable;

	result = 0;
	read_begin(reader, op);
	while (!result)
		CHECK_OK(engine_wait(reader->engine, true, &readable, &err));
}

static struct reader reader;
static struct reader_counters counters;
static struct read_op op;

static int open_reader(void **state)
{
	static const struct reader_options options = { .verify = true };
	static const struct file_geometry geometry = { .logical_block = 512, .size = DEVICE };
	static const struct reader_events events = { .failed = failed };
	struct engine_setup engine = { .poll_fd = -1, .wake = -1, .volume_fds = &fd, .member_count = 1, .depth = 1 };
	struct reader_setup setup = { .options = &options, .geometry = &geometry, .events = &events,
				      .counters = &counters };

	make_device();
	CHECK_OK(chunk_cache_new(CHUNK, &setup.cache, &err));
	CHECK_OK(page_cache_new(&setup.pages, &err));
	CHECK_OK(reader_open(&reader, &setup, &err));
	CHECK_OK(pool_new(&engine, &reader.engine, &err));
	op.request = (struct read_request){ .version = { .index = make_index(), .key = 1 }, .offset = 1000,
					    .size = READ_MAX, .room = READ_MAX, .done = done,
					    .payload = aligned_alloc(DSFS_BLOCK, READ_MAX),
					    .scratch = aligned_alloc(DSFS_BLOCK, READ_SCRATCH) };
	CHECK_OK(inode_get(op.request.version.index, 2, &op.request.inode, &err));
	return 0;
}

static int close_reader(void **state)
{
	engine_free(reader.engine);
	reader_close(&reader);
	chunk_cache_free(reader.setup.cache);
	page_cache_free(reader.setup.pages);
	index_close((struct index *)op.request.version.index);
	free(op.request.payload);
	free(op.request.scratch);
	close(fd);
	return 0;
}

static void test_a_file(void **state)
{
	static const struct engine_ops cancelling = { .read = cancel };
	struct engine cancelled = { .ops = &cancelling }, *engine = reader.engine;

	read_file(&reader, &op);
	assert_int_equal(result, SIZE - 1000);
	assert_memory_equal(op.request.payload, device + AT + 1000, SIZE - 1000);
	assert_int_equal(counters.device_reads, 1);

	assert_int_equal(pwrite(fd, "damage", 6, AT + CHUNK + 5000), 6);
	blamed = -EBADMSG;
	read_file(&reader, &op);
	assert_int_equal(result, -EBADMSG);
	assert_int_equal(counters.device_reads, 3); /* once more, in vain */

	/* Not as if nobody wanted it. */
	reader.engine = &cancelled;
	blamed = -ECANCELED;
	read_file(&reader, &op);
	assert_int_equal(result, -EIO);
	reader.engine = engine;
}

/* A list: both chunks and the second once more. Three reads: only the first chunk fits into the payload as it is on the
 * device, as the second ends within a block. */
static void test_chunks(void **state)
{
	struct chunk chunks[3];
	uint64_t before = counters.device_reads;

	for (unsigned i = 0; i < 3; i++)
		CHECK_OK(chunk_get(op.request.version.index, &op.request.inode, i > 0, &chunks[i], &err));
	op.request.chunks = chunks;
	op.request.chunk_count = 3;
	read_file(&reader, &op);
	assert_int_equal(result, CHUNK + 2 * (SIZE - CHUNK));
	assert_memory_equal(op.request.payload, device + AT, SIZE);
	assert_memory_equal(op.request.payload + SIZE, device + AT + CHUNK, SIZE - CHUNK);
	assert_int_equal(counters.device_reads - before, 3);
}

/* Where the payload lies as the file does, in blocks, the device writes there: what else is in the first block as well,
 * and nothing before it. Elsewhere nothing but the payload is written to. */
static void test_lead(void **state)
{
	uint8_t *base = op.request.payload;

	op.request.size = 5000;
	op.request.payload = base + 512 + 1000 % 512;
	op.request.lead = 1000 % 512;
	memset(base, 0xa5, 8192);
	read_file(&reader, &op);
	assert_int_equal(result, 5000);
	assert_memory_equal(base + 512, device + AT + 512, 488 + 5000);
	assert_int_equal(base[511], 0xa5);

	op.request.lead--;
	memset(base, 0xa5, 8192);
	read_file(&reader, &op);
	assert_memory_equal(op.request.payload, device + AT + 1000, 5000);
	assert_int_equal(op.request.payload[-1], 0xa5);
	assert_int_equal(op.request.payload[5000], 0xa5);

	op.request.lead++;
	op.request.room = 5000; /* the last block has no room */
	memset(base, 0xa5, 8192);
	read_file(&reader, &op);
	assert_memory_equal(op.request.payload, device + AT + 1000, 5000);
	assert_int_equal(op.request.payload[-1], 0xa5);
	assert_int_equal(op.request.payload[5000], 0xa5);
	op.request.payload = base;
}

/* Several reads at once, by threads. */
static void test_threads(void **state)
{
	struct engine_setup setup = { .poll_fd = -1, .wake = -1, .volume_fds = &fd, .member_count = 1, .depth = 4 };
	struct engine *one = reader.engine;
	static struct read_op ops[16];
	bool readable;

	CHECK_OK(pool_new(&setup, &reader.engine, &err));
	result = 0;
	for (unsigned i = 0; i < 16; i++) {
		ops[i].request = op.request;
		ops[i].request.done = add_done;
		ops[i].request.payload = aligned_alloc(DSFS_BLOCK, READ_MAX);
		ops[i].request.scratch = aligned_alloc(DSFS_BLOCK, READ_SCRATCH);
		ops[i].request.offset = i * 10000;
		ops[i].request.size = 10000;
		read_begin(&reader, &ops[i]);
	}
	while (result < 160000)
		CHECK_OK(engine_wait(reader.engine, true, &readable, &err));
	for (unsigned i = 0; i < 16; i++) {
		assert_memory_equal(ops[i].request.payload, device + AT + i * 10000, 10000);
		free(ops[i].request.payload);
		free(ops[i].request.scratch);
	}
	engine_free(reader.engine);
	reader.engine = one;
}

static struct chunk small_chunk(uint32_t at, uint32_t length)
{
	return (struct chunk){ .address = AT + at, .stored = length, .length = length, .codec = DSFS_CODEC_RAW,
			       .sum = sum_of(DSFS_SUM_XXH3_64, device + AT + at, length) };
}

/* A gap between two chunks on the device is read as well when it is no larger than allowed. */
static void test_gap(void **state)
{
	struct chunk chunks[2] = { small_chunk(0, 1000), small_chunk(5000, 700) };
	uint64_t before = counters.device_reads;

	op.request.chunks = chunks;
	op.request.chunk_count = 2;
	op.request.gap = 4000;
	read_file(&reader, &op);
	assert_int_equal(counters.device_reads - before, 1);
	assert_int_equal(result, 1700);
	assert_memory_equal(op.request.payload, device + AT, 1000);
	assert_memory_equal(op.request.payload + 1000, device + AT + 5000, 700);
	op.request.gap = 3999;
	read_file(&reader, &op);
	assert_int_equal(counters.device_reads - before, 3);
	assert_memory_equal(op.request.payload + 1000, device + AT + 5000, 700);
}

/* A device with a block that cannot be read. */
static uint64_t bad_at;
static unsigned device_reads, wanted_reads;
static _Atomic uint64_t wanted = 1;

static void bad_read(struct engine *engine, struct io_read *read)
{
	uint64_t at = read->offset;

	device_reads++;
	wanted = device_reads != wanted_reads;
	for (int i = 0; i < read->iov_count; at += read->iov[i++].iov_len)
		memcpy(read->iov[i].iov_base, device + at, read->iov[i].iov_len);
	read->done(read, bad_at >= read->offset && bad_at < at ? -ENODATA : (int)(at - read->offset));
}

#define LISTED 50u

/* Reads chunks that lie side by side, with a wrong sum for those of `wrong`. Returns how often the device was asked. */
static unsigned read_listed(uint64_t wrong)
{
	static const struct engine_ops ops = { .read = bad_read };
	static struct chunk chunks[LISTED];
	struct engine engine = { .ops = &ops }, *one = reader.engine;
	const uint8_t *payload = op.request.payload;
	uint64_t whole = 0;

	for (uint32_t i = 0; i < LISTED; i++) {
		chunks[i] = small_chunk(i * 1000, 1000);
		chunks[i].number = i;
		chunks[i].sum.bytes[0] += wrong >> i & 1;
	}
	op.request.chunks = chunks;
	op.request.chunk_count = LISTED;
	op.request.gap = 4000;
	named = device_reads = 0;
	reader.engine = &engine;
	read_file(&reader, &op);
	reader.engine = one;
	if (!wanted) {
		assert_int_equal(result, -ECANCELED);
		return device_reads;
	}
	for (uint32_t i = 0; i < LISTED; i++, payload += op.request.is_spread ? 1000 : chunks[i - 1].length) {
		if (named >> i & 1)
			continue;
		assert_memory_equal(payload, device + AT + i * 1000, 1000);
		whole += 1000;
	}
	assert_int_equal(result, whole);
	return device_reads;
}

/* A list goes on without the chunks that cannot be read. Each of them is named once, and is read again twice, apart. */
static void test_damaged_in_a_list(void **state)
{
	const uint64_t many = UINT64_C(0x155555555555), failures = counters.failures;

	blamed = -EBADMSG;
	assert_int_equal(read_listed(0), 1);
	assert_int_equal(read_listed(1 << 3), 2 + 2);
	assert_int_equal(named, 1 << 3);
	assert_int_equal(counters.failures - failures, 1);
	assert_int_equal(read_listed(many), 2 + 2 * 23);
	assert_int_equal(named, many);
	op.request.is_ahead = true;
	read_listed(1);
	assert_int_equal(counters.failures - failures, 2);
}

/* All that were read with such a block are read again, and the one that has it once more; none is if nobody wants it
 * any more. */
static void test_unreadable_in_a_list(void **state)
{
	blamed = -ENODATA;
	bad_at = AT + 7300; /* only chunk 7 has bytes of this block */
	assert_int_equal(read_listed(0), 2 + LISTED + 1);
	assert_int_equal(named, 1 << 7);
	wanted_reads = 2;
	op.request.wanted = &wanted;
	assert_int_equal(read_listed(0), 2);
	op.request.wanted = NULL;
	bad_at = 0;
}

/* Chunks that are spread lie in the payload as on the device, with whole blocks around them and the gaps between. */
static void test_spread(void **state)
{
	struct chunk chunks[3] = { small_chunk(300, 1000), small_chunk(5000, 700), small_chunk(20000, 100) };
	uint64_t before = counters.device_reads;
	uint8_t *base = op.request.payload;

	op.request.chunks = chunks;
	op.request.chunk_count = 3;
	op.request.gap = 4000;
	op.request.is_spread = true;
	op.request.payload = base + 300;
	op.request.lead = 300;
	op.request.room = READ_MAX - 300;
	memset(base, 0xa5, 2 * DSFS_BLOCK);
	read_file(&reader, &op);
	assert_int_equal(counters.device_reads - before, 2); /* the third one is too far away */
	assert_int_equal(result, 1800);
	assert_memory_equal(base, device + AT, 5700);
	assert_memory_equal(base + 20000, device + AT + 20000, 100);
	blamed = -EBADMSG;
	op.request.payload = base;
	assert_int_equal(read_listed(1 << 3 | 1 << 9), 2 + 4);
	assert_int_equal(named, 1 << 3 | 1 << 9);
}

CHECK_MAIN(cmocka_unit_test_setup_teardown(test_a_file, open_reader, close_reader),
	   cmocka_unit_test_setup_teardown(test_chunks, open_reader, close_reader),
	   cmocka_unit_test_setup_teardown(test_gap, open_reader, close_reader),
	   cmocka_unit_test_setup_teardown(test_damaged_in_a_list, open_reader, close_reader),
	   cmocka_unit_test_setup_teardown(test_unreadable_in_a_list, open_reader, close_reader),
	   cmocka_unit_test_setup_teardown(test_spread, open_reader, close_reader),
	   cmocka_unit_test_setup_teardown(test_lead, open_reader, close_reader),
	   cmocka_unit_test_setup_teardown(test_threads, open_reader, close_reader))
