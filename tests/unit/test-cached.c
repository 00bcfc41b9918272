/* SPDX-License-Identifier: MIT */
/* A reader with a cache: what the volume returned once comes from there, and whatever the cache returns or does not,
 * the bytes are those of the volume and nobody hears of it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "cache/store.h"
#include "image/catalogue/index_load.h"
#include "lib/check.h"
#include "lib/section.h"
#include "read/cached.h"
#include "read/read.h"

#define FILES  200u
#define CHUNK  131072u
#define AT     DSFS_DATA_AT
#define DEVICE (AT + 8 * (1u << 20))

static uint8_t *device;
static uint64_t sizes[FILES];
static int fds[2]; /* of the volume and the cache */
static struct store *store;
static struct cached *cached;
static struct reader reader;
static struct reader_counters counters;
static struct read_op op;
static int64_t result;
static unsigned told;
static char folder_name[] = "/tmp/test-cached-XXXXXX";
static int folder;

static void done(struct read_op *read, int64_t bytes)
{
	result = bytes;
}

static void failed(struct read_op *read, const struct chunk *chunk, const struct error *err)
{
	told++;
}

static void tell(const void *owner, const struct error *why)
{
	told++;
}

/* ---- a volume of files of all sizes, one behind the other ---- */

static struct section section;
static struct index *volume;

static uint64_t size_of(unsigned file)
{
	return file % 50 == 49 ? 3 * CHUNK + 777 : 1000 + file * 211;
}

static uint64_t add_file(unsigned file, uint64_t at)
{
	uint64_t first = 0, length;
	char name[16];

	sizes[file] = size_of(file);
	for (uint64_t done_bytes = 0; done_bytes < sizes[file]; done_bytes += length) {
		length = sizes[file] - done_bytes < CHUNK ? sizes[file] - done_bytes : CHUNK;
		uint64_t number = section_chunk_with(&section, at + done_bytes,
						     sum_of(DSFS_SUM_XXH3_64, device + at + done_bytes, length),
						     (uint32_t)length, DSFS_CODEC_RAW);

		if (!done_bytes)
			first = number;
	}
	snprintf(name, sizeof(name), "%03u", file);
	section_file(&section, 1, name, sizes[file], first);
	return at + sizes[file];
}

static void make_volume(void)
{
	static const uint64_t members[1] = { DEVICE };
	char name[] = "/tmp/test-cached-volume-XXXXXX";
	struct version version = { 0 };
	uint64_t at = AT;

	fds[0] = mkstemp(name);
	assert_true(fds[0] >= 0);
	unlink(name);
	device = malloc(DEVICE);
	for (size_t i = 0; i < DEVICE; i++)
		device[i] = (uint8_t)(i * 2654435761u >> 13);
	assert_int_equal(pwrite(fds[0], device, DEVICE, 0), DEVICE);
	section_init(&section);
	section.chunk_log = 17;
	for (unsigned i = 0; i < FILES; i++)
		at = add_file(i, at);
	assert_true(at < DEVICE);
	CHECK_OK(index_load_fd(section_write(&section, &version), &version, members[0], NULL, &volume, &err));
}

/* ---- a reader ---- */

static void open_store(void)
{
	const struct store_setup setup = { .folder = folder, .size = 64u << 20, .chunks = 200, .bytes = 4000000,
					   .tell = tell };

	CHECK_OK(store_open(&setup, &store, &err));
	CHECK_OK(store_start(store, &err));
	while (!atomic_load(&store->is_loaded))
		usleep(1000);
	fds[1] = store->data;
	CHECK_OK(cached_new(store, 1, &cached, &err));
	reader.setup.cached = cached;
}

static void close_store(void)
{
	assert_true(store_stop(store));
	cached_free(cached);
	store_free(store);
}

static void open_engine(void)
{
	const struct engine_setup engine = { .poll_fd = -1, .wake = -1, .volume_fds = fds, .member_count = 2,
					     .depth = 1 };

	engine_free(reader.engine);
	CHECK_OK(pool_new(&engine, &reader.engine, &err));
}

static int begin(void **state)
{
	static const struct reader_options options = { .verify = true };
	static const struct file_geometry geometry = { .logical_block = 512, .size = DEVICE };
	static const struct reader_events events = { .failed = failed };
	struct reader_setup setup = { .options = &options, .geometry = &geometry, .events = &events,
				      .counters = &counters, .keeps = true };

	make_volume();
	assert_non_null(mkdtemp(folder_name));
	folder = open(folder_name, O_RDONLY | O_DIRECTORY);
	CHECK_OK(chunk_cache_new(CHUNK, &setup.cache, &err));
	CHECK_OK(page_cache_new(&setup.pages, &err));
	CHECK_OK(reader_open(&reader, &setup, &err));
	open_store();
	open_engine();
	op.request = (struct read_request){ .version = { .index = volume, .key = 1 },
					    .room = READ_MAX, .done = done,
					    .payload = aligned_alloc(DSFS_BLOCK, READ_MAX),
					    .scratch = aligned_alloc(DSFS_BLOCK, READ_SCRATCH) };
	return 0;
}

static int end(void **state)
{
	close_store();
	engine_free(reader.engine);
	reader_close(&reader);
	chunk_cache_free(reader.setup.cache);
	page_cache_free(reader.setup.pages);
	index_close(volume);
	free(op.request.payload);
	free(op.request.scratch);
	free(device);
	close(fds[0]);
	(void)unlinkat(folder, CHUNK_TABLE_NAME, 0);
	(void)unlinkat(folder, STORE_DATA, 0);
	(void)unlinkat(folder, STORE_LOCK, 0);
	close(folder);
	return rmdir(folder_name);
}

static void read_part(unsigned file, uint64_t offset, uint64_t size)
{
	struct chunk chunk;
	uint64_t at, wanted = offset + size < sizes[file] ? size : sizes[file] - offset;
	bool readable;

	CHECK_OK(inode_get(volume, file + 2, &op.request.inode, &err));
	CHECK_OK(chunk_get(volume, &op.request.inode, 0, &chunk, &err));
	at = chunk.address + offset;
	op.request.offset = offset;
	op.request.size = size;
	result = 0;
	memset(op.request.payload, 0x5a, wanted + DSFS_BLOCK);
	read_begin(&reader, &op);
	while (!result)
		CHECK_OK(engine_wait(reader.engine, true, &readable, &err));
	assert_int_equal(result, wanted);
	assert_memory_equal(op.request.payload, device + at, wanted);
}

static void read_all(void)
{
	for (unsigned i = 0; i < FILES; i++)
		read_part(i, 0, READ_MAX);
}

/* Waits until all that was staged is written. */
static void settle(uint64_t chunks)
{
	for (unsigned i = 0; i < 200000; i++) {
		if (store_state(store).fills + store_state(store).dropped >= chunks)
			return;
		usleep(1000);
	}
	fail_msg("%ju chunks are written, expected %ju", (uintmax_t)store_state(store).fills, (uintmax_t)chunks);
}

#define CHUNKS (FILES + 4 * 3) /* the large ones have four */

static uint64_t volume_reads, cache_reads, cache_errors;

static void mark(void)
{
	volume_reads = counters.device_reads;
	cache_reads = counters.local_hits;
	cache_errors = counters.local_errors;
}

/* A file whose chunks were written in two parts is two reads: a slow machine may have some of the four large ones. */
static void check_count(uint64_t found, uint64_t expected)
{
	assert_in_range(found, expected, expected == FILES ? FILES + 4 : expected);
}

/* Says of how many reads since mark() the volume was asked, the cache had it, and the cache did not. */
static void check_reads(uint64_t of_volume, uint64_t of_cache, uint64_t wrong)
{
	check_count(counters.device_reads - volume_reads, of_volume);
	check_count(counters.local_hits - cache_reads, of_cache);
	check_count(counters.local_errors - cache_errors, wrong);
	assert_int_equal(counters.checksum_failures, 0);
	assert_int_equal(counters.device_errors, 0);
	assert_int_equal(counters.retries, 0);
	assert_int_equal(told, 0);
}

/* ---- the tests, in their order ---- */

static void test_second_epoch_reads_nothing(void **state)
{
	mark();
	read_all();
	check_reads(FILES, 0, 0);
	settle(CHUNKS);
	assert_int_equal(store_state(store).dropped, 0);
	mark();
	read_all();
	check_reads(0, FILES, 0);
}

/* Parts of files of several chunks, of one, and from within a block. */
static void test_parts(void **state)
{
	mark();
	read_part(49, CHUNK, CHUNK);
	read_part(49, 2 * CHUNK, READ_MAX);
	read_part(99, 5, 3 * CHUNK);
	check_reads(0, 3, 0);
	for (unsigned i = 0; i < FILES; i++)
		read_part(i, i % 97, 700);
	assert_int_equal(counters.device_reads, volume_reads);
	assert_int_equal(told, 0);
}

static struct chunk first_chunk(unsigned file)
{
	struct inode inode;
	struct chunk chunk;

	CHECK_OK(inode_get(volume, file + 2, &inode, &err));
	CHECK_OK(chunk_get(volume, &inode, 0, &chunk, &err));
	return chunk;
}

/* Reads one list of so many first chunks. */
static void read_list(unsigned first, unsigned count, bool is_spread)
{
	struct chunk chunks[8];
	uint64_t at = 0;
	bool readable;

	for (unsigned i = 0; i < count; i++)
		chunks[i] = first_chunk(first + i);
	op.request.chunks = chunks;
	op.request.chunk_count = count;
	op.request.is_spread = is_spread;
	op.request.lead = is_spread ? chunks[0].address % DSFS_BLOCK : 0;
	op.request.payload += op.request.lead;
	result = 0;
	read_begin(&reader, &op);
	while (!result)
		CHECK_OK(engine_wait(reader.engine, true, &readable, &err));
	for (unsigned i = 0; i < count; i++) {
		at = is_spread ? chunks[i].address - chunks[0].address : at;
		assert_memory_equal(op.request.payload + at, device + chunks[i].address, chunks[i].length);
		at += chunks[i].length;
	}
	op.request.payload -= op.request.lead;
	op.request.lead = op.request.chunk_count = 0;
	op.request.chunks = NULL;
	op.request.is_spread = false;
}

/* Files that were written one behind the other are one read there, too. Those that lie in the payload with what is
 * between them never come from the cache. */
static void test_lists(void **state)
{
	mark();
	read_list(0, 8, false);
	check_reads(0, counters.local_hits - cache_reads, 0);
	assert_true(counters.local_hits - cache_reads <= 2);
	mark();
	read_list(0, 8, true);
	check_reads(1, 0, 0);
}

/* A reader of neighbours has all of them from one place, one that is told what to read has what is there. */
static void test_lists_in_part(void **state)
{
	const struct chunk gone = first_chunk(3);
	uint64_t place;

	assert_true(view_find(&store->view, &gone, &place));
	view_forget(&store->view, &gone, place);
	reader.setup.keeps = false;
	mark();
	read_list(0, 8, false);
	check_reads(1, 0, 0);
	reader.setup.keeps = true;
	mark();
	read_list(0, 8, false);
	assert_int_equal(counters.device_reads - volume_reads, 1);
	assert_true(counters.local_hits - cache_reads >= 2);
	settle(CHUNKS + 1);
	mark();
	read_part(3, 0, READ_MAX);
	check_reads(0, 1, 0);
}

/* A reader that does not keep leaves the cache as it is. */
static void test_not_kept(void **state)
{
	const struct chunk gone = first_chunk(5);
	uint64_t place;

	assert_true(view_find(&store->view, &gone, &place));
	view_forget(&store->view, &gone, place);
	reader.setup.keeps = false;
	mark();
	read_part(5, 0, READ_MAX);
	read_part(5, 0, READ_MAX);
	read_part(6, 0, READ_MAX);
	check_reads(2, 1, 0);
	reader.setup.keeps = true;
	read_part(5, 0, READ_MAX);
	settle(CHUNKS + 2);
}

static void test_after_another_start(void **state)
{
	close_store();
	open_store();
	open_engine();
	mark();
	read_all();
	check_reads(0, FILES, 0);
}

static void fill_data(int byte)
{
	uint8_t *bytes = aligned_alloc(4096, SLOTS_SIZE);

	memset(bytes, byte, SLOTS_SIZE);
	for (unsigned i = 0; i < 8; i++)
		assert_int_equal(pwrite(store->data, bytes, SLOTS_SIZE, (off_t)i * SLOTS_SIZE), SLOTS_SIZE);
	free(bytes);
}

/* Each chunk is wrong once, and then where it was. */
static void test_all_is_wrong(void **state)
{
	uint64_t fills = store_state(store).fills;

	fill_data(0xee);
	mark();
	read_all();
	check_reads(FILES, 0, FILES);
	settle(fills + CHUNKS);
	mark();
	read_all();
	check_reads(0, FILES, 0);
}

static void test_data_is_cut_off(void **state)
{
	uint64_t fills = store_state(store).fills;

	assert_int_equal(ftruncate(store->data, 0), 0);
	mark();
	read_all();
	check_reads(FILES, 0, FILES);
	settle(fills + CHUNKS);
}

/* Reads as somebody to whom the cache is lent. */
static struct cached *borrow(int *ret_data)
{
	char path[2][32];
	struct cached *lent;
	struct view *view;
	int table;

	snprintf(path[0], sizeof(path[0]), "/proc/self/fd/%d", store->table.fd);
	snprintf(path[1], sizeof(path[1]), "/proc/self/fd/%d", store->data);
	table = open(path[0], O_RDONLY);
	CHECK_OK(view_borrow(table, open(path[1], O_RDONLY | (fcntl(store->data, F_GETFL) & O_DIRECT)), &view,
			      &err));
	close(table);
	*ret_data = view_data(view);
	CHECK_OK(cached_borrow(view, 1, &lent, &err));
	return lent;
}

/* A chunk that is wrong is tried once, although the table stays as it is. */
static void test_lent(void **state)
{
	struct cached *lent = borrow(&fds[1]);
	uint64_t fills = store_state(store).fills;

	open_engine();
	reader.setup.cached = cached_use(lent);
	reader.setup.keeps = false;
	mark();
	read_all();
	check_reads(0, FILES, 0);
	fill_data(0x77);
	mark();
	read_all();
	check_reads(FILES, 0, FILES);
	mark();
	read_all();
	check_reads(FILES, 0, 0);
	cached_free(lent);
	cached_free(lent);
	reader.setup.cached = cached;
	reader.setup.keeps = true;
	fds[1] = store->data;
	open_engine();
	read_all();
	settle(fills + CHUNKS);
}

/* Three failures in a row, and the cache is asked no more than once a second. */
static void test_all_fails(void **state)
{
	uint64_t errors;

	fds[1] = open("/dev/null", O_WRONLY);
	open_engine();
	mark();
	read_all();
	errors = counters.local_errors - cache_errors;
	check_reads(FILES, 0, errors);
	assert_in_range(errors, ROUTE_FAILURES, ROUTE_FAILURES + 2);
	close(fds[1]);
	fds[1] = store->data;
	open_engine();
}

/* ---- a drive that does not answer ---- */

static struct io_read *hanging;

static void hang(struct engine *engine, struct io_read *read)
{
	if (read->member == 1)
		hanging = read;
	else
		read->done(read, io_read_now(fds, read));
}

/* A read that hangs there is left, and the volume is read meanwhile. */
static void test_a_read_that_hangs_is_left(void **state)
{
	static const struct engine_ops ops = { .read = hang };
	static struct read_op second;
	struct engine slow = { .ops = &ops }, *engine = reader.engine;
	int64_t begun;

	usleep(1100000); /* then it may be tried again, after test_all_fails() */
	read_part(0, 0, READ_MAX);
	reader.engine = &slow;
	CHECK_OK(inode_get(volume, 1 + 2, &op.request.inode, &err));
	op.request.offset = 0;
	op.request.size = READ_MAX;
	result = 0;
	begun = clock_now();
	read_begin(&reader, &op);
	assert_non_null(hanging);
	assert_false(read_is_stuck(&op, begun));
	assert_true(read_is_stuck(&op, clock_now() + 1000 * INT64_C(1000000)));
	read_leave(&op);
	usleep(150000); /* until the cache is suspect by the clock as well */
	second.request = op.request;
	second.request.wanted = NULL;
	second.request.payload = aligned_alloc(DSFS_BLOCK, READ_MAX);
	second.request.scratch = aligned_alloc(DSFS_BLOCK, READ_SCRATCH);
	read_begin(&reader, &second);
	assert_int_equal(result, sizes[1]);
	assert_memory_equal(second.request.payload, device + AT + sizes[0], sizes[1]);
	hanging->done(hanging, -EIO);
	assert_int_equal(result, -ECANCELED);
	assert_int_equal(told, 0);
	free(second.request.payload);
	free(second.request.scratch);
	reader.engine = engine;
}

CHECK_MAIN_WITH(begin, end, cmocka_unit_test(test_second_epoch_reads_nothing), cmocka_unit_test(test_parts),
		cmocka_unit_test(test_lists), cmocka_unit_test(test_lists_in_part), cmocka_unit_test(test_not_kept),
		cmocka_unit_test(test_after_another_start), cmocka_unit_test(test_all_is_wrong),
		cmocka_unit_test(test_data_is_cut_off), cmocka_unit_test(test_lent), cmocka_unit_test(test_all_fails),
		cmocka_unit_test(test_a_read_that_hangs_is_left))
