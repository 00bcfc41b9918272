/* SPDX-License-Identifier: MIT */
/* The read path over a scripted engine and a fake channel: any order of completions, failures at the N-th device
 * read, damage; always exactly one reply, and never wrong bytes. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "fuse/init.h"
#include "image/catalogue/block_sums.h"
#include "image/catalogue/index_load.h"
#include "image/members/address.h"
#include "image/names/names.h"
#include "lib/check.h"
#include "lib/rows.h"
#include "lib/section.h"
#include "serve/damage.h"
#include "serve/recovery/recovery.h"
#include "serve/request/content.h"
#include "serve/request/reply.h"
#include "serve/serve.h"
#include "serve/successor/crash.h"
#include "serve/worker/worker.h"

#define CHUNK    131072u
#define AT       DSFS_DATA_AT
#define DEVICE   (AT + 16 * CHUNK)
#define SEQUENCE 5u

#define MEMBERS 2u /* of a volume with copies */

#define BLOCK_SUMS      (AT + 13 * CHUNK) /* file 7 */
#define BLOCK_SUMS_SIZE (CHUNK + 50001u)
#define BLOCK_SUMS_AT   (AT + 15 * CHUNK) /* the section with its sums */

/* --- the device, and an engine that completes when the test says --- */

static uint8_t device[DEVICE];
static struct io_read *started[64];
static unsigned started_count, device_reads;

static void script_read(struct engine *engine, struct io_read *read)
{
	assert_true(started_count < 64);
	assert_int_equal(read->offset % 512, 0);
	started[started_count++] = read;
	device_reads++;
}

/* Completes a started read, in any order. result 0: with the device's bytes. */
static void complete(unsigned which, int result)
{
	struct io_read *read = started[which];
	uint64_t at = read->offset;
	int length = 0;

	assert_true(which < started_count);
	memmove(&started[which], &started[which + 1], (--started_count - which) * sizeof(*started));
	for (int i = 0; i < read->iov_count && result == 0; i++) {
		assert_int_equal((uintptr_t)read->iov[i].iov_base % 512, 0);
		assert_int_equal(read->iov[i].iov_len % 512, 0);
		assert_true(at + read->iov[i].iov_len <= DEVICE);
		memcpy(read->iov[i].iov_base, device + at, read->iov[i].iov_len);
		at += read->iov[i].iov_len;
		length += (int)read->iov[i].iov_len;
	}
	read->done(read, result ? result : length);
}

/* At the end of the device. */
static void complete_empty(unsigned which)
{
	struct io_read *read = started[which];

	assert_true(which < started_count);
	memmove(&started[which], &started[which + 1], (--started_count - which) * sizeof(*started));
	read->done(read, 0);
}

static void complete_all(void)
{
	while (started_count)
		complete(started_count - 1, 0); /* last first */
}

static const struct engine_ops script_ops = { .read = script_read };

/* --- the channel --- */

static struct serve serve;
static unsigned replies;
static uint64_t reply_hand; /* the request that the worker had in hand */
static int reply_error_code;
static uint8_t reply_bytes[INIT_READ_MAX];
static size_t reply_length;

static int fake_reply(struct channel *channel, uint64_t unique, int error, const void *data, size_t length,
		      struct channel_request *request)
{
	assert_int_equal(unique, request->wire.unique);
	replies++;
	reply_hand = recovery_hand_unique(serve.recovery, 0);
	reply_error_code = error;
	reply_length = length;
	if (length)
		memcpy(reply_bytes, data, length);
	return 0;
}

static void fake_release(struct channel *channel, struct channel_request *request)
{
	assert_true(request->taken);
	request->taken = false;
	channel->busy--;
}

static const struct channel_ops fake_ops = { .reply = fake_reply, .release = fake_release };
static const struct channel_ops fake_ring_ops = { .reply = fake_reply, .release = fake_release, .own_thread = true };

/* --- a worker --- */

static const uint64_t sizes[1] = { DEVICE };
static struct section section;
static struct version version;
static struct generation generation;
static struct file_geometry geometry[MEMBERS];
static struct array_source volume = { .count = 1, .geometry = geometry };
static struct worker worker __attribute__((aligned(128)));
static struct engine engine = { .ops = &script_ops };
static struct channel channel;
static struct channel_request request;
static void *payload_map; /* of the request, at first */
static uint64_t block_sums_first, page_at;
static uint8_t *block_sums_bytes;

static void *map_pages(size_t size)
{
	void *map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(map != MAP_FAILED);
	return map;
}

static uint64_t add_raw(uint64_t offset, uint32_t length)
{
	return section_chunk_with(&section, offset, sum_of(section_sums, device + offset, length), length,
				  DSFS_CODEC_RAW);
}

/* Files: 2 "three": three raw chunks in a row; 3 "gap": data, hole, data, neighbours on the device; 4 "small": 1000
 * bytes at an odd place; 5 "inline"; 6 "apart": two chunks that are not neighbours; 7 "fine": two with block
 * checksums. */
static void make_files(void)
{
	uint64_t first;

	section_init(&section);
	first = add_raw(AT, CHUNK);
	add_raw(AT + CHUNK, CHUNK);
	add_raw(AT + 2 * CHUNK, 5000);
	section_file(&section, 1, "a-three", 2 * CHUNK + 5000, first);
	first = add_raw(AT + 4 * CHUNK, CHUNK);
	section_chunk(&section, 0, 0, 0, DSFS_CODEC_RAW);
	add_raw(AT + 5 * CHUNK, CHUNK);
	section_file(&section, 1, "b-gap", 3 * CHUNK, first);
	section.inodes[2].sparse = true;
	section_file(&section, 1, "c-small", 1000, add_raw(AT + 8 * CHUNK + 4321, 1000));
	memcpy(section.blob, "inline bytes", 12);
	section.blob_length = 12;
	first = section_chunk_with(&section, (uint64_t)DSFS_IN_INDEX << DSFS_ADDRESS_BITS,
				   sum_of(section_sums, "inline bytes", 12), 12, DSFS_CODEC_RAW);
	section_file(&section, 1, "d-inline", 12, first);
	first = add_raw(AT + 10 * CHUNK, CHUNK);
	add_raw(AT + 12 * CHUNK, CHUNK);
	section_file(&section, 1, "e-apart", 2 * CHUNK, first);
	first = block_sums_first = add_raw(BLOCK_SUMS, CHUNK);
	add_raw(BLOCK_SUMS + CHUNK, BLOCK_SUMS_SIZE - CHUNK);
	section_file(&section, 1, "f-fine", BLOCK_SUMS_SIZE, first);
}

/* Both chunks of the file have their rows in one page. */
static void make_block_sums(void)
{
	const struct rows_chunk rows[2] = { { block_sums_first, device + BLOCK_SUMS, CHUNK },
					    { block_sums_first + 1, device + BLOCK_SUMS + CHUNK,
					     BLOCK_SUMS_SIZE - CHUNK } };

	block_sums_bytes = rows_section(&version, BLOCK_SUMS_AT, rows, 2);
	memcpy(device + BLOCK_SUMS_AT, block_sums_bytes, version.block_sums.length);
	CHECK_OK(block_sums_open(block_sums_bytes, version.block_sums.length, &version, &generation.opened.block_sums,
				 &err));
	page_at = address_offset(block_sums_page_address(generation.opened.block_sums, 0));
}

/* Two members hold the same. */
static void make_members(void)
{
	static struct member list[MEMBERS];
	static struct member_group group = { .birth = 1, .tail = DEVICE, .kind = DSFS_GROUP_COPIES, .data = 1,
					     .redundant = 1 };
	static uint64_t columns[MEMBERS];
	static struct member_column places[MEMBERS];

	for (uint32_t i = 0; i < MEMBERS; i++) {
		columns[i] = address_make(i, 0);
		places[i] = (struct member_column){ columns[i], 0, i };
	}
	generation.opened.index->members = (struct members){ .segment_log = 30,
							     .list = list,
							     .count = MEMBERS,
							     .groups = &group,
							     .group_count = 1,
							     .columns = columns,
							     .column_count = MEMBERS,
							     .places = places };
	CHECK_OK(route_new(MEMBERS, &serve.volume.route, &err));
	volume.count = MEMBERS;
	worker.setup.uring = true;
}

static bool has_copies, is_ring; /* what the next setup makes */

static int setup(void **state)
{
	struct index *index;

	log_set_level(LOG_EMERG);
	for (size_t i = 0; i < DEVICE; i++)
		device[i] = (uint8_t)(i * 2654435761u >> 13);
	make_files();
	CHECK_OK(index_load_fd(section_write(&section, &version), &version, sizes[0], NULL, &index, &err));
	generation = (struct generation){
		.opened.version = version, .sequence = SEQUENCE, .key = 1, .opened.index = index, .uses = 1
	};
	for (unsigned i = 0; i < MEMBERS; i++)
		geometry[i] = (struct file_geometry){ .is_direct = true, .logical_block = 512, .size = DEVICE };
	serve = (struct serve){ .volume.array = &volume, .options.read.verify = true, .worker_count = 1 };
	CHECK_OK(recovery_new(&serve.recovery, NULL, &err));
	CHECK_OK(damage_new(&serve.damage, &err));
	make_block_sums();
	CHECK_OK(page_cache_new(&serve.pages, &err));
	CHECK_OK(generations_add(&serve.generations, &(struct generation *){ &generation }, false, &err));
	atomic_store(&serve.generations.current, &generation);
	CHECK_OK(chunk_cache_new(CHUNK, &serve.cache, &err));
	memset(&worker, 0, sizeof(worker));
	volume.count = 1;
	if (has_copies)
		make_members();
	channel = (struct channel){ .ops = is_ring ? &fake_ring_ops : &fake_ops, .slots = 1 };
	worker.serve = &serve;
	worker.slots = 1;
	worker.channel = &channel;
	CHECK_OK(content_open(&worker, &err));
	worker.queue->reader.engine = &engine;
	payload_map = map_pages(INIT_READ_MAX);
	request = (struct channel_request){ .channel = &channel, .payload = payload_map,
					    .payload_size = INIT_READ_MAX };
	started_count = 0;
	return 0;
}

static int teardown(void **state)
{
	assert_int_equal(generation.uses, 1);
	assert_int_equal(channel.busy, 0);
	assert_int_equal(started_count, 0);
	assert_int_equal(engine.left, 0);
	assert_int_equal(recovery_hand_unique(serve.recovery, 0), 0);
	recovery_close(serve.recovery);
	if (has_copies)
		generation.opened.index->members = (struct members){ 0 };
	route_free(serve.volume.route);
	index_close(generation.opened.index);
	block_sums_close(generation.opened.block_sums);
	version_free(&version);
	damage_free(serve.damage);
	chunk_cache_free(serve.cache);
	page_cache_free(serve.pages);
	content_close(&worker);
	munmap(payload_map, INIT_READ_MAX);
	return 0;
}

/* A READ arrives; the payload holds rubbish from before. */
static void begin(uint64_t ordinal, uint64_t offset, uint32_t size)
{
	memset(request.payload, 0xa5, INIT_READ_MAX);
	memset(queue_scratch(&content_at(&worker, 0)->read), 0x5a, READ_SCRATCH);
	request.wire = (struct request){ .opcode = FUSE_READ, .unique = request.wire.unique + 2,
					 .nodeid = (uint64_t)SEQUENCE << DSFS_ORDINAL_BITS | ordinal,
					 .in.read = { .offset = offset, .size = size } };
	request.taken = true;
	channel.busy = 1;
	atomic_store(&request.owed, request.wire.unique);
	replies = device_reads = 0;
	content_read(&worker, &request);
}

static void expect_bytes(const void *bytes, size_t length)
{
	assert_int_equal(replies, 1);
	assert_int_equal(reply_error_code, 0);
	assert_int_equal(reply_length, length);
	assert_memory_equal(reply_bytes, bytes, length);
	assert_false(request.taken);
}

static void expect_eio(void)
{
	assert_int_equal(replies, 1);
	assert_int_equal(reply_error_code, -EIO);
	assert_int_equal(reply_length, 0);
	assert_false(request.taken);
}

static void test_whole_file_is_one_device_read(void **state)
{
	begin(2, 0, 1u << 20);
	assert_int_equal(device_reads, 1);
	assert_int_equal(replies, 0);
	complete_all();
	expect_bytes(device + AT, 2 * CHUNK + 5000);
}

/* A crash in what verifies and decodes bytes is that of the READ for which it does. */
static void test_completion_has_its_request_in_hand(void **state)
{
	struct recovery_request found;

	begin(2, 8192, 4096);
	assert_int_equal(recovery_hand_unique(serve.recovery, 0), 0); /* the handler's was the channel's to note */
	complete_all();
	expect_bytes(device + AT + 8192, 4096);
	assert_int_equal(reply_hand, request.wire.unique);
	assert_int_equal(recovery_hand_unique(serve.recovery, 0), 0);
	crash_resume(serve.recovery, 0, &request);
	found = recovery_in_hand(serve.recovery, 0);
	assert_int_equal(found.nodeid, request.wire.nodeid);
	assert_int_equal(found.opcode, FUSE_READ);
	assert_int_equal(found.offset, 8192);
	assert_int_equal(found.size, 4096);
	recovery_leave(serve.recovery, 0);
}

static void test_every_offset_and_size(void **state)
{
	uint64_t file = 2 * CHUNK + 5000;

	srandom(7);
	for (int round = 0; round < 150; round++) {
		uint64_t offset = (uint64_t)random() % (file + 100);
		uint32_t size = (uint32_t)(random() % (1 + (round % 2 ? 5000 : 300000)));
		uint64_t left = offset < file ? file - offset : 0;

		begin(2, offset, size);
		complete_all();
		expect_bytes(device + AT + (left ? offset : 0), size < left ? size : left);
	}
}

static void test_part_of_a_chunk_comes_from_the_cache_next_time(void **state)
{
	begin(2, 4096, 4096);
	assert_int_equal(device_reads, 1);
	complete_all();
	expect_bytes(device + AT + 4096, 4096);
	begin(2, 65536, 8192);
	assert_int_equal(device_reads, 0);
	expect_bytes(device + AT + 65536, 8192);
}

/* A hole between chunks that are neighbours on the device: zeros, whatever the buffer held before. */
static void test_hole_between_neighbours(void **state)
{
	static uint8_t expected[3 * CHUNK];

	memcpy(expected, device + AT + 4 * CHUNK, CHUNK);
	memcpy(expected + 2 * CHUNK, device + AT + 5 * CHUNK, CHUNK);
	begin(3, 0, 3 * CHUNK);
	complete_all();
	expect_bytes(expected, 3 * CHUNK);
	begin(3, 100, 3 * CHUNK - 200);
	complete_all();
	expect_bytes(expected + 100, 3 * CHUNK - 200);
	begin(3, CHUNK + 5, 4096);
	assert_int_equal(device_reads, 0);
	expect_bytes(expected + CHUNK + 5, 4096);
}

static void test_small_and_inline(void **state)
{
	begin(4, 0, 131072);
	assert_int_equal(device_reads, 1);
	complete_all();
	expect_bytes(device + AT + 8 * CHUNK + 4321, 1000);
	begin(5, 0, 131072);
	assert_int_equal(device_reads, 0);
	expect_bytes("inline bytes", 12);
	begin(5, 7, 100);
	expect_bytes("bytes", 5);
	begin(5, 12, 100);
	expect_bytes("", 0);
}

static void test_completions_in_both_orders(void **state)
{
	static uint8_t expected[2 * CHUNK];

	memcpy(expected, device + AT + 10 * CHUNK, CHUNK);
	memcpy(expected + CHUNK, device + AT + 12 * CHUNK, CHUNK);
	for (unsigned first = 0; first < 2; first++) {
		begin(6, 0, 2 * CHUNK);
		assert_int_equal(started_count, 2);
		complete(first, 0);
		assert_int_equal(replies, 0);
		complete(0, 0);
		expect_bytes(expected, 2 * CHUNK);
	}
}

/* Each device read in turn fails once: read again, right bytes. Twice: EIO. */
static void test_failures(void **state)
{
	static const int codes[] = { -EIO, -ENODEV, 512 /* short */ };

	for (unsigned which = 0; which < 2; which++)
		for (unsigned i = 0; i < 3; i++) {
			begin(6, 0, 2 * CHUNK);
			complete(which, codes[i]);
			complete(0, 0);
			assert_int_equal(replies, 0);
			assert_int_equal(started_count, 1);
			complete(0, 0);
			assert_int_equal(replies, 1);
			assert_int_equal(reply_error_code, 0);
			assert_int_equal(device_reads, 3);

			begin(6, 0, 2 * CHUNK);
			complete(which, codes[i]);
			complete(0, 0);
			complete(0, codes[i]);
			expect_eio();
		}
}

/* Each place is listed once, however often it is read. */
static void expect_listed(uint64_t offset, uint64_t length)
{
	char expected[64], text[1024] = "";
	FILE *out = fmemopen(text, sizeof(text), "w");

	damage_write(serve.damage, out);
	fclose(out);
	snprintf(expected, sizeof(expected), "0\t%llu\t%llu\tchunk sum ", (unsigned long long)offset,
		 (unsigned long long)length);
	assert_memory_equal(text, expected, strlen(expected));
	assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
	assert_int_equal(damage_count(serve.damage), 1);
}

static void test_damage(void **state)
{
	uint64_t at = AT + CHUNK + 777;

	device[at] ^= 1;
	begin(2, 0, 1u << 20);
	complete_all(); /* seen, and read again */
	expect_eio();
	assert_int_equal(device_reads, 2);
	begin(2, 0, CHUNK); /* the chunk before it is well */
	complete_all();
	expect_bytes(device + AT, CHUNK);
	begin(2, 2 * CHUNK + 1, 100); /* and the one behind it */
	complete_all();
	expect_bytes(device + AT + 2 * CHUNK + 1, 100);
	begin(2, CHUNK + 4096 * 3, 10); /* far from the damage, but not to be told from it */
	complete_all();
	expect_eio();
	expect_listed(AT + CHUNK, CHUNK);
	begin(2, 0, 1u << 20); /* cured by the second read */
	complete(0, 0);
	assert_int_equal(replies, 0);
	device[at] ^= 1;
	complete_all();
	expect_bytes(device + AT, 2 * CHUNK + 5000);
}

static void test_a_full_list_of_damage(void **state)
{
	const struct error why = { .code = -EBADMSG, .reason = "a\tb\nc" };
	struct generation listed = { .opened.version.label = "v1", .key = 7 };
	char *text = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&text, &length);

	for (uint64_t i = 0; i < 2 * (DAMAGE_MAX + 10); i++)
		damage_add(serve.damage,
			   &(struct reader_place){ .member = i % 3, .offset = i / 2 * 4096, .length = i / 2 + 1 },
			   &listed, &why);
	assert_int_equal(damage_count(serve.damage), DAMAGE_MAX);
	damage_write(serve.damage, out);
	fclose(out);
	assert_memory_equal(text, "0\t0\t1\ta b c\tv1\t-\twrong\n1\t0\t1\t", 25);
	assert_non_null(strstr(text, "\n# the list is full: 4116 times something else was found\n"));
	free(text);
}

static void test_damage_goes_with_its_version(void **state)
{
	const struct error why = { .code = -EBADMSG, .reason = "wrong" };
	struct generation gone = { .opened.version.label = "v1", .key = 1 },
			  other = { .opened.version.label = "v2", .key = 2 };

	for (uint64_t i = 0; i < 100; i++)
		damage_add(serve.damage, &(struct reader_place){ .offset = i * 4096, .length = 1 },
			   i % 4 ? &gone : &other, &why);
	assert_int_equal(damage_count(serve.damage), 100);
	atomic_store(&gone.fate, GENERATION_REMOVED);
	damage_forget(serve.damage, &gone);
	assert_int_equal(damage_count(serve.damage), 25);
	for (uint64_t i = 0; i < 100; i++) /* a place is found again where it is listed */
		damage_add(serve.damage, &(struct reader_place){ .offset = i * 4096, .length = 1 },
			   i % 4 ? &gone : &other, &why);
	assert_int_equal(damage_count(serve.damage), 25);
}

/* --- the way to the device fails --- */

/* The n-th read that is under way. */
static void expect_read(unsigned which, uint64_t offset, uint64_t length)
{
	uint64_t found = 0;

	assert_true(which < started_count);
	for (int i = 0; i < started[which]->iov_count; i++)
		found += started[which]->iov[i].iov_len;
	assert_int_equal(started[which]->offset, offset);
	assert_int_equal(found, length);
}

static void wait_for_device(void)
{
	serve.options.read.wait = true;
	serve.options.read.deadline = 1000;
}

/* As if its wait had begun so many seconds earlier. */
static void pass_time(unsigned seconds)
{
	assert_int_not_equal(content_at(&worker, 0)->read.op.wait.since, 0); /* may be below it soon after a boot */
	content_at(&worker, 0)->read.op.wait.since -= seconds * INT64_C(1000000000);
}

static void expect_parked(void)
{
	assert_int_equal(replies, 0);
	assert_int_equal(started_count, 0);
	assert_int_equal(worker.queue->reader.parked_count, 1);
}

static void test_path_errors_wait(void **state)
{
	static const int codes[] = { -EIO, -ENODEV, -ENXIO, -ENOLINK, -EREMOTEIO, -ETIMEDOUT, -EOPNOTSUPP };

	wait_for_device();
	for (unsigned i = 0; i < sizeof(codes) / sizeof(*codes); i++) {
		begin(6, 0, 2 * CHUNK);
		complete(1, codes[i]);
		complete(0, 0);
		assert_int_equal(started_count, 1); /* at once */
		complete(0, codes[i]);
		expect_parked();
		for (unsigned again = 0; again < 3; again++) {
			pass_time(300);
			read_retry(&worker.queue->reader);
			assert_int_equal(worker.queue->reader.parked_count, 0);
			assert_int_equal(started_count, 1); /* what has arrived is not read again */
			expect_read(0, AT + 12 * CHUNK, CHUNK);
			if (again < 2)
				complete(0, codes[i]);
		}
		complete_all();
		assert_int_equal(replies, 1);
		assert_int_equal(reply_error_code, 0);
		assert_memory_equal(reply_bytes + CHUNK, device + AT + 12 * CHUNK, CHUNK);
		assert_int_equal(content_at(&worker, 0)->read.op.wait.since, 0);
	}
}

/* No bytes where there were some: a block device is gone, a file was cut off. */
static void test_no_bytes(void **state)
{
	wait_for_device();
	for (unsigned is_device = 0; is_device < 2; is_device++) {
		geometry[0].is_block_device = is_device;
		begin(6, 0, CHUNK);
		complete_empty(0);
		complete_empty(0);
		if (!is_device) {
			assert_int_equal(reply_error_code, -EIO);
			continue;
		}
		expect_parked();
		read_retry(&worker.queue->reader);
		complete_all();
		assert_int_equal(replies, 1);
		assert_int_equal(reply_error_code, 0);
	}
}

static void test_other_errors_do_not_wait(void **state)
{
	static const int codes[] = { -ENODATA, -EILSEQ, 512 /* short */ };

	wait_for_device();
	for (unsigned i = 0; i < sizeof(codes) / sizeof(*codes); i++) {
		begin(4, 0, 4096);
		complete(0, codes[i]);
		complete(0, codes[i]);
		expect_eio();
	}
	device[AT + 8 * CHUNK + 4321] ^= 1;
	begin(4, 0, 4096);
	complete_all();
	expect_eio();
	device[AT + 8 * CHUNK + 4321] ^= 1;
}

static void test_deadline(void **state)
{
	wait_for_device();
	for (unsigned parked = 0; parked < 2; parked++) {
		begin(4, 0, 4096);
		complete(0, -ENODEV);
		if (!parked)
			pass_time(1000);
		complete(0, -ENODEV);
		if (parked) {
			expect_parked();
			pass_time(1000);
			read_retry(&worker.queue->reader);
		}
		expect_eio();
		assert_int_equal(content_at(&worker, 0)->read.op.wait.since, 0);
	}
	begin(4, 0, 4096);
	complete(0, -ENODEV);
	complete(0, -ENODEV);
	expect_parked();
	worker.queue->reader.ending = true; /* unmounted */
	read_retry(&worker.queue->reader);
	expect_eio();
}

/* Answered while the device has it: the slot stays taken, and what arrives at last goes nowhere. */
static void test_hung_read(void **state)
{
	wait_for_device();
	for (int result = 0; result >= -EIO; result -= EIO) {
		begin(6, 0, 2 * CHUNK);
		assert_true(channel_expire(&request, request.wire.unique));
		assert_int_equal(reply_error_code, -EIO);
		assert_false(channel_expire(&request, request.wire.unique));
		complete(0, result);
		assert_true(request.taken);
		complete(0, result);
		assert_int_equal(replies, 1);
		assert_int_equal(started_count, 0);
		assert_false(request.taken);
	}
	begin(6, 0, 2 * CHUNK);
	complete(1, -EIO);
	complete(0, 0);
	complete(0, -EIO);
	expect_parked();
	assert_true(channel_expire(&request, request.wire.unique));
	read_retry(&worker.queue->reader);
	assert_int_equal(replies, 1);
	assert_int_equal(started_count, 0); /* the device must not get the memory again */
	assert_false(request.taken);
}

/* --- a member that does not answer --- */

static void fall_silent(uint32_t member, bool is_silent)
{
	atomic_store(&serve.volume.route->members[member].progress,
		     clock_now() - (is_silent ? INT64_C(10000000000) : 0));
}

static void expect_left(unsigned reads)
{
	assert_int_equal(worker.queue->left, reads > 0);
	assert_int_equal(engine.left, reads);
}

/* The other member answers; the first one comes late, when the slot has another request, or before it. What it brings
 * goes nowhere. */
static void test_stuck_read_is_left(void **state)
{
	static const int results[] = { 0, -EIO, 512 };

	for (unsigned i = 0; i < 6; i++) {
		begin(2, 0, 1u << 20);
		assert_int_equal(started_count, 1);
		queue_leave_stuck(worker.queue);
		assert_int_equal(started_count, 1);
		fall_silent(started[0]->member, true);
		queue_leave_stuck(worker.queue);
		assert_int_equal(started_count, 2);
		assert_int_not_equal(started[0]->member, started[1]->member);
		assert_int_equal(started[0]->offset, started[1]->offset);
		expect_left(1);
		assert_int_equal(replies, 0);
		if (i % 2) {
			complete(0, results[i / 2]);
			assert_int_equal(replies, 0);
			expect_left(0);
			complete(0, 0);
			expect_bytes(device + AT, 2 * CHUNK + 5000);
			continue;
		}
		complete(1, 0);
		expect_bytes(device + AT, 2 * CHUNK + 5000);
		begin(6, 0, CHUNK);
		assert_int_equal(started_count, 2);
		complete(0, results[i / 2]);
		expect_left(0);
		assert_int_equal(replies, 0);
		complete(0, 0);
		expect_bytes(device + AT + 10 * CHUNK, CHUNK);
	}
	assert_int_equal(atomic_load(&worker.counters.read.failures), 0);
}

/* Over io_uring the kernel has the payload: nothing that a device may keep goes there. */
static void test_payload_is_kept(void **state)
{
	begin(2, 0, 1u << 20);
	fall_silent(started[0]->member, true);
	queue_leave_stuck(worker.queue);
	assert_ptr_equal(request.payload, payload_map);
	for (unsigned i = 0; i < started_count; i++)
		for (int k = 0; k < started[i]->iov_count; k++)
			assert_false((uint8_t *)started[i]->iov[k].iov_base >= request.payload &&
				     (uint8_t *)started[i]->iov[k].iov_base < request.payload + INIT_READ_MAX);
	complete(1, 0);
	expect_bytes(device + AT, 2 * CHUNK + 5000);
	complete(0, 0);
	assert_int_equal(replies, 1);
}

static void test_nobody_else_has_it(void **state)
{
	begin(2, 0, 1u << 20);
	fall_silent(started[0]->member, true);
	atomic_store(&serve.volume.route->members[1 - started[0]->member].failures, ROUTE_FAILURES);
	queue_leave_stuck(worker.queue);
	assert_int_equal(started_count, 1);
	expect_left(0);
	complete_all();
	expect_bytes(device + AT, 2 * CHUNK + 5000);
}

/* As much as there is memory for: then a read waits for the device as it would without copies. */
static void test_memory_is_bounded(void **state)
{
	begin(2, 0, 1u << 20);
	fall_silent(started[0]->member, true);
	queue_leave_stuck(worker.queue);
	complete(1, 0);
	begin(6, 0, 2 * CHUNK); /* of two pieces */
	assert_int_equal(started_count, 3);
	fall_silent(started[0]->member, false);
	fall_silent(started[1]->member, true);
	queue_leave_stuck(worker.queue);
	assert_int_equal(started_count, 3);
	complete(0, 0);
	expect_left(0);
	queue_leave_stuck(worker.queue);
	assert_int_equal(started_count, 4);
	expect_left(2);
	complete(2, 0);
	complete(2, 0);
	assert_int_equal(replies, 1);
	assert_int_equal(reply_error_code, 0);
	assert_memory_equal(reply_bytes + CHUNK, device + AT + 12 * CHUNK, CHUNK);
	complete_all();
	assert_int_equal(replies, 1);
}

/* Answered by somebody else before: the slot is free at once. */
static void test_stuck_and_answered(void **state)
{
	begin(2, 0, 1u << 20);
	assert_true(channel_expire(&request, request.wire.unique));
	fall_silent(started[0]->member, true);
	queue_leave_stuck(worker.queue);
	assert_int_equal(started_count, 1);
	assert_false(request.taken);
	complete_all();
	assert_int_equal(replies, 1);
}

static int setup_copies(void **state)
{
	has_copies = true;
	return setup(state);
}

static int setup_ring(void **state)
{
	is_ring = true;
	return setup_copies(state);
}

static int teardown_copies(void **state)
{
	int r = teardown(state);

	has_copies = is_ring = false;
	return r;
}

/* --- block checksums --- */

static uint64_t counted(const counter64 *counter)
{
	return atomic_load(counter);
}

static void test_blocks_alone(void **state)
{
	begin(7, 8192, 8192);
	assert_int_equal(started_count, 2); /* the page of sums beside the blocks */
	expect_read(0, page_at, 4096);
	expect_read(1, BLOCK_SUMS + 8192, 8192);
	complete_all();
	expect_bytes(device + BLOCK_SUMS + 8192, 8192);
	begin(7, 3 * 4096 + 1000, 4000); /* it is kept */
	assert_int_equal(started_count, 1);
	expect_read(0, BLOCK_SUMS + 3 * 4096, 8192);
	complete_all();
	expect_bytes(device + BLOCK_SUMS + 3 * 4096 + 1000, 4000);
	begin(7, BLOCK_SUMS_SIZE - 3, 100);
	expect_read(0, BLOCK_SUMS + CHUNK + 49152, 1024); /* to the end of its sector */
	complete_all();
	expect_bytes(device + BLOCK_SUMS + BLOCK_SUMS_SIZE - 3, 3);
	begin(7, 0, 1u << 20);
	expect_read(0, BLOCK_SUMS, CHUNK + 50176);
	complete_all();
	expect_bytes(device + BLOCK_SUMS, BLOCK_SUMS_SIZE);
	assert_int_equal(counted(&worker.counters.read.block_sums_reads), 1);
	assert_int_equal(counted(&worker.counters.read.block_sums_hits), 2);
}

/* Over the border of two chunks: one read of the device, one page. */
static void test_two_chunks_in_part(void **state)
{
	for (unsigned first = 0; first < 2; first++) {
		begin(7, CHUNK - 5000, 10000);
		if (first == 0) {
			assert_int_equal(started_count, 2);
			complete(1, 0); /* the data before the page */
			assert_int_equal(replies, 0);
		}
		assert_int_equal(started_count, 1);
		complete_all();
		expect_bytes(device + BLOCK_SUMS + CHUNK - 5000, 10000);
	}
}

static void test_block_sums_every_offset_and_size(void **state)
{
	srandom(8);
	for (int round = 0; round < 200; round++) {
		uint64_t offset = (uint64_t)random() % (BLOCK_SUMS_SIZE + 100);
		uint32_t size = (uint32_t)(random() % (1 + (round % 2 ? 9000 : 200000)));
		uint64_t left = offset < BLOCK_SUMS_SIZE ? BLOCK_SUMS_SIZE - offset : 0;

		begin(7, offset, size);
		complete_all();
		expect_bytes(device + BLOCK_SUMS + (left ? offset : 0), size < left ? size : left);
	}
}

static void expect_whole(uint64_t offset, uint32_t size)
{
	complete_all();
	expect_bytes(device + BLOCK_SUMS + offset, size);
}

/* A page that cannot be read because of the way to the device is no bad page. */
static void test_lost_page_waits(void **state)
{
	wait_for_device();
	begin(7, 8192, 8192);
	complete(0, -ENODEV);
	complete(0, 0);
	expect_parked();
	read_retry(&worker.queue->reader);
	assert_int_equal(started_count, 1);
	expect_read(0, page_at, 4096);
	expect_whole(8192, 8192);
	assert_int_equal(counted(&worker.counters.read.block_sums_failures), 0);
}

/* A damaged page costs speed, and is not read again. */
static void test_damaged_page(void **state)
{
	device[page_at + 3000] ^= 1;
	begin(7, 8192, 8192);
	complete(0, 0);
	complete(0, 0);
	assert_int_equal(replies, 0);
	assert_int_equal(started_count, 1);
	expect_read(0, BLOCK_SUMS, CHUNK);
	expect_whole(8192, 8192);
	assert_int_equal(counted(&worker.counters.read.block_sums_failures), 1);
	begin(7, CHUNK + 4096, 4096);
	assert_int_equal(started_count, 1);
	expect_read(0, BLOCK_SUMS + CHUNK, 50176);
	expect_whole(CHUNK + 4096, 4096);
	assert_int_equal(counted(&worker.counters.read.block_sums_failures), 1);
	assert_int_equal(counted(&worker.counters.read.checksum_failures), 0);
	device[page_at + 3000] ^= 1;
}

static void test_unreadable_page(void **state)
{
	for (unsigned i = 0; i < 2; i++) {
		begin(7, i * CHUNK + 8192, 8192);
		assert_int_equal(started_count, 2);
		complete(0, i ? -EIO : 512);
		complete(0, 0);
		expect_read(0, BLOCK_SUMS + i * CHUNK, i ? 50176 : CHUNK);
		expect_whole(i * CHUNK + 8192, 8192);
	}
	begin(7, 8192, 8192); /* and it may be well again */
	assert_int_equal(started_count, 2);
	complete_all();
	expect_bytes(device + BLOCK_SUMS + 8192, 8192);
	begin(7, 8192, 8192);
	assert_int_equal(started_count, 1);
	complete_all();
}

/* Only the damaged block fails; the others of its chunk are well. */
static void test_damaged_block(void **state)
{
	uint64_t at = BLOCK_SUMS + 5 * 4096 + 77;

	device[at] ^= 1;
	begin(7, 5 * 4096, 4096);
	complete_all(); /* blocks, blocks again, the chunk, the chunk again */
	expect_eio();
	assert_int_equal(device_reads, 1 + 4);
	begin(7, 6 * 4096, 8192);
	complete_all();
	expect_bytes(device + BLOCK_SUMS + 6 * 4096, 8192);
	assert_int_equal(device_reads, 1);
	begin(7, 4 * 4096, 8192); /* cured by the second read */
	complete(0, 0);
	assert_int_equal(replies, 0);
	device[at] ^= 1;
	complete_all();
	expect_bytes(device + BLOCK_SUMS + 4 * 4096, 8192);
	assert_int_equal(device_reads, 2);
}

/* Puts block sums of this chunk on the volume, in the place of those that are there. */
static void put_sums(struct rows_chunk *chunk)
{
	block_sums_close(generation.opened.block_sums);
	block_sums_bytes = rows_section(&version, BLOCK_SUMS_AT, chunk, 1);
	memcpy(device + BLOCK_SUMS_AT, block_sums_bytes, version.block_sums.length);
	CHECK_OK(block_sums_open(block_sums_bytes, version.block_sums.length, &version, &generation.opened.block_sums,
				 &err));
}

/* Sums that disagree with a chunk that is right. */
static void test_wrong_sums(void **state)
{
	struct rows_chunk wrong = { block_sums_first, device + AT, CHUNK };

	put_sums(&wrong);
	begin(7, 8192, 8192);
	complete_all();
	expect_bytes(device + BLOCK_SUMS + 8192, 8192);
	assert_int_equal(counted(&worker.counters.read.block_sums_failures), 1);
}

/* Somebody changes a block, and all sums of the section with it. XXH3-64 would believe the row; the chunk's SHA-256
 * proves that it is another one. */
static void test_forged_row(void **state)
{
	struct rows_chunk forged = { block_sums_first, device + BLOCK_SUMS, CHUNK };

	device[BLOCK_SUMS + 8192] ^= 1;
	put_sums(&forged);
	begin(7, 8192, 4096);
	complete_all();
	expect_eio();
	assert_int_equal(counted(&worker.counters.read.block_sums_failures), 1);
}

static void test_wrong_nodes(void **state)
{
	begin(1, 0, 4096);
	assert_int_equal(reply_error_code, -EISDIR);
	begin(999, 0, 4096);
	assert_int_equal(reply_error_code, -EIO);
	assert_int_equal(replies, 1);
}

/* Of a visit whose process was killed: nobody sees the answer, and an operator has no reason to look. */
static void test_killed_is_no_error(void **state)
{
	request.wire = (struct request){ .opcode = FUSE_LOOKUP, .unique = request.wire.unique + 2 };
	request.taken = true;
	channel.busy = 1;
	atomic_store(&request.owed, request.wire.unique);
	reply_error(&worker, &request, -EINTR);
	assert_int_equal(reply_error_code, -EINTR);
	assert_int_equal(counted(&worker.counters.errors), 0);
}

#define READ_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
#define COPIES_TEST(name) cmocka_unit_test_setup_teardown(name, setup_copies, teardown_copies)

/* Runs the tests of sums again, with SHA-256. */
static int run_sha256(void)
{
	const struct CMUnitTest sha256[] = {
		READ_TEST(test_whole_file_is_one_device_read), READ_TEST(test_every_offset_and_size),
		READ_TEST(test_part_of_a_chunk_comes_from_the_cache_next_time), READ_TEST(test_small_and_inline),
		READ_TEST(test_damage), READ_TEST(test_two_chunks_in_part),
		READ_TEST(test_block_sums_every_offset_and_size), READ_TEST(test_damaged_page),
		READ_TEST(test_wrong_sums), READ_TEST(test_forged_row)
	};

	section_sums = DSFS_SUM_SHA256;
	return cmocka_run_group_tests(sha256, NULL, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		READ_TEST(test_whole_file_is_one_device_read), READ_TEST(test_completion_has_its_request_in_hand),
		READ_TEST(test_every_offset_and_size), READ_TEST(test_part_of_a_chunk_comes_from_the_cache_next_time),
		READ_TEST(test_hole_between_neighbours), READ_TEST(test_small_and_inline),
		READ_TEST(test_completions_in_both_orders), READ_TEST(test_failures), READ_TEST(test_damage),
		READ_TEST(test_a_full_list_of_damage), READ_TEST(test_damage_goes_with_its_version),
		READ_TEST(test_path_errors_wait), READ_TEST(test_no_bytes), READ_TEST(test_other_errors_do_not_wait),
		READ_TEST(test_deadline), READ_TEST(test_hung_read), COPIES_TEST(test_stuck_read_is_left),
		cmocka_unit_test_setup_teardown(test_payload_is_kept, setup_ring, teardown_copies),
		COPIES_TEST(test_nobody_else_has_it), COPIES_TEST(test_memory_is_bounded),
		COPIES_TEST(test_stuck_and_answered), READ_TEST(test_lost_page_waits), READ_TEST(test_blocks_alone),
		READ_TEST(test_two_chunks_in_part), READ_TEST(test_block_sums_every_offset_and_size),
		READ_TEST(test_damaged_page), READ_TEST(test_unreadable_page), READ_TEST(test_damaged_block),
		READ_TEST(test_wrong_sums), READ_TEST(test_wrong_nodes), READ_TEST(test_killed_is_no_error)
	};

	return cmocka_run_group_tests(tests, NULL, NULL) + run_sha256();
}
