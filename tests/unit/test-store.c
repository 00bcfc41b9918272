/* SPDX-License-Identifier: MIT */
/* The parts of a cache of chunks: the map and its words, slots and their times, what is staged, what is saved. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "cache/folder.h"
#include "cache/store.h"
#include "lib/check.h"

#define SECOND INT64_C(1000000000)
#define DAY    SLOTS_DAY

static struct chunk chunk_number(uint64_t n)
{
	struct chunk chunk = { .address = (1u << 20) + n * 5000, .stored = 4000 + (uint32_t)(n % 999) };
	uint64_t sum = n * UINT64_C(0xd1342543de82ef95) + 1;

	memcpy(chunk.sum.bytes, &sum, sizeof(sum));
	return chunk;
}

static uint64_t key_of(uint64_t n)
{
	const struct chunk chunk = chunk_number(n);

	return chunk_map_key(&chunk);
}

/* ---- the map ---- */

static struct chunk_map new_map(uint64_t buckets)
{
	struct chunk_map map = { .buckets = buckets };

	map.words = aligned_alloc(64, chunk_map_bytes(buckets));
	assert_non_null(map.words);
	memset((void *)map.words, 0, chunk_map_bytes(buckets));
	return map;
}

static void test_map_takes_what_it_was_made_for(void **state)
{
	enum { CHUNKS = 200000 };
	struct chunk_map map = new_map(chunk_map_buckets(CHUNKS));
	unsigned refused = 0, wrong = 0;
	uint64_t block;

	for (uint64_t i = 0; i < CHUNKS; i++)
		refused += !chunk_map_put(&map, key_of(i), i + 1);
	assert_true(refused < CHUNKS / 1000);
	for (uint64_t i = 0; i < CHUNKS; i++)
		wrong += !chunk_map_find(&map, key_of(i), &block) || block != i + 1;
	assert_true(wrong <= refused + CHUNKS / 10000); /* a tag is found for another one now and then */
	for (uint64_t i = CHUNKS; i < 2 * CHUNKS; i++)
		wrong += chunk_map_find(&map, key_of(i), &block);
	assert_true(wrong < refused + CHUNKS / 1000);
	free((void *)map.words);
}

static void test_map_refuses_when_full(void **state)
{
	struct chunk_map map = new_map(1);
	unsigned taken = 0;

	for (uint64_t i = 0; i < 100; i++)
		taken += chunk_map_put(&map, key_of(i), i);
	assert_int_equal(taken, CHUNK_MAP_BUCKET);
	free((void *)map.words);
}

static void test_map_clears_only_what_it_is_told(void **state)
{
	struct chunk_map map = new_map(10);
	uint64_t block = 0;

	assert_true(chunk_map_put(&map, key_of(1), 77));
	chunk_map_clear(&map, key_of(1), 78);
	assert_true(chunk_map_find(&map, key_of(1), &block));
	assert_int_equal(block, 77);
	chunk_map_clear(&map, key_of(1), 77);
	assert_false(chunk_map_find(&map, key_of(1), &block));
	free((void *)map.words);
}

/* Content that is written where other content was has another key, as has the same content elsewhere. */
static void test_keys_differ(void **state)
{
	struct chunk a = chunk_number(5), b = a;

	b.sum.bytes[0] ^= 1;
	assert_true(chunk_map_key(&a) != chunk_map_key(&b));
	b = a;
	b.address++;
	assert_true(chunk_map_key(&a) != chunk_map_key(&b));
	b = a;
	b.stored++;
	assert_true(chunk_map_key(&a) != chunk_map_key(&b));
}

static bool is_odd(const void *argument, uint64_t block)
{
	return block % 2;
}

static void test_map_is_swept(void **state)
{
	struct chunk_map map = new_map(chunk_map_buckets(1000));
	uint64_t block, found = 0;

	for (uint64_t i = 0; i < 1000; i++)
		assert_true(chunk_map_put(&map, key_of(i), i));
	assert_int_equal(chunk_map_sweep(&map, is_odd, NULL), 500);
	for (uint64_t i = 0; i < 1000; i++)
		found += chunk_map_find(&map, key_of(i), &block);
	assert_int_equal(found, 500);
	free((void *)map.words);
}

/* ---- slots ---- */

static void test_slots_are_taken_in_turn_and_stay(void **state)
{
	struct slot list[4] = { 0 };
	struct slots slots;
	uint32_t slot, now = 100 * DAY;

	slots_open(&slots, list, 4);
	for (uint32_t i = 0; i < 4; i++) {
		assert_true(slots_take(&slots, now + i, &slot));
		assert_int_equal(slot, i);
	}
	assert_false(slots_take(&slots, now + 10, &slot));
	assert_int_equal(slots_reclaim(&slots, now + 10), 0);
	slots_hit(&slots, 0, now + 2 * DAY);
	assert_int_equal(slots_reclaim(&slots, now + SLOTS_STAY + 1), 1); /* not 0: it was hit */
	assert_true(slots_is_free(&slots, 1) && !slots_is_free(&slots, 2));
	assert_true(slots_take(&slots, now + SLOTS_STAY + 1, &slot));
	assert_int_equal(slot, 1);
}

static void test_no_more_than_all_in_a_day(void **state)
{
	struct slot list[2] = { 0 };
	struct slots slots;
	uint32_t slot, now = 100 * DAY;

	slots_open(&slots, list, 2);
	for (unsigned i = 0; i < 2; i++) {
		assert_true(slots_take(&slots, now, &slot));
		slots.list[slot].hit = 0;
		assert_int_equal(slots_reclaim(&slots, now), 1);
	}
	assert_false(slots_take(&slots, now + DAY - 1, &slot));
	assert_true(slots_take(&slots, now + DAY, &slot));
}

/* A slot that was taken in vain costs nothing; a time in the future keeps nothing. */
static void test_slots_given_back_and_from_the_future(void **state)
{
	struct slot list[1] = { 0 };
	struct slots slots;
	uint32_t slot, now = 100 * DAY;

	slots_open(&slots, list, 1);
	for (unsigned i = 0; i < 3; i++) {
		assert_true(slots_take(&slots, now, &slot));
		slots_give(&slots, slot);
	}
	assert_true(slots_take(&slots, now, &slot));
	slots_hit(&slots, slot, now + 1000 * DAY);
	assert_int_equal(slots_reclaim(&slots, now), 1);
}

/* Another process, which has the list too and is about to end, takes what was counted as free. */
static void test_slots_that_somebody_else_took(void **state)
{
	struct slot list[2] = { 0 };
	struct slots slots;
	uint32_t slot, now = 100 * DAY;

	slots_open(&slots, list, 2);
	atomic_store(&list[0].filled, now);
	atomic_store(&list[1].filled, now);
	assert_false(slots_take(&slots, now, &slot));
	assert_int_equal(slots.free, 0);
	assert_int_equal(slots_reclaim(&slots, now), 1);
	assert_true(slots_take(&slots, now, &slot));
}

/* ---- staging ---- */

static uint8_t content[SLOTS_SIZE];

static bool stage_bytes(struct stage *stage, uint64_t key, uint32_t phase, size_t bytes)
{
	const struct iovec parts[2] = { { content + phase, bytes / 2 },
					{ content + phase + bytes / 2, bytes - bytes / 2 } };

	return stage_add(stage, key, phase, parts, 2);
}

static void test_staged_chunks_keep_their_phase(void **state)
{
	struct stage_part part;
	struct stage *stage;

	for (size_t i = 0; i < sizeof(content); i++)
		content[i] = (uint8_t)(i * 31 >> 3);
	CHECK_OK(stage_new(&stage, &err));
	assert_false(stage_take(stage, 0, &part));
	assert_true(stage_bytes(stage, 1, 100, 5000));
	assert_true(stage_bytes(stage, 2, 1004, 10));
	assert_true(stage_bytes(stage, 3, 4000, 200));
	assert_true(stage_take(stage, 0, &part));
	assert_int_equal(part.count, 3);
	assert_true(part.is_first && !part.is_last);
	assert_int_equal(part.chunks[0].at, 100);
	assert_int_equal(part.chunks[1].at, 4096 + 1004); /* where the first ends */
	assert_int_equal(part.chunks[2].at, 4096 + 4000);
	assert_memory_equal(part.buffer->bytes + 100, content + 100, 5000);
	assert_memory_equal(part.buffer->bytes + 4096 + 4000, content + 4000, 200);
	assert_int_equal(part.from, 0);
	assert_int_equal(part.to, 3 * 4096);
	stage_done(stage, &part);
	assert_false(stage_take(stage, 0, &part));
	assert_true(stage_bytes(stage, 4, 7, 10));
	assert_true(stage_take(stage, 0, &part));
	assert_true(!part.is_first && part.count == 1);
	assert_int_equal(part.from, 3 * 4096);
	assert_int_equal(part.chunks[0].at, 3 * 4096 + 7);
	stage_free(stage);
}

static void test_stage_is_bounded(void **state)
{
	struct stage_part part;
	struct stage *stage;
	unsigned taken = 0, written = 0;

	CHECK_OK(stage_new(&stage, &err));
	while (stage_bytes(stage, taken, 0, 1u << 20))
		taken++;
	assert_int_equal(taken, 16); /* MiB */
	assert_true(stage_take(stage, 0, &part));
	assert_true(part.is_first && part.is_last);
	stage_done(stage, &part);
	assert_true(stage_bytes(stage, taken++, 0, 1u << 20));
	for (written = part.count; stage_take(stage, 0, &part); stage_done(stage, &part))
		written += part.count;
	assert_int_equal(written, taken);
	stage_free(stage);
}

static void test_closing_ends_the_wait(void **state)
{
	int64_t begun = clock_now();
	struct stage_part part;
	struct stage *stage;

	CHECK_OK(stage_new(&stage, &err));
	stage_close(stage);
	assert_false(stage_take(stage, 1000 * SECOND, &part));
	assert_true(clock_now() - begun < 100 * SECOND && stage_is_closed(stage));
	stage_free(stage);
}

/* ---- saved tables ---- */

static const uint8_t volume[16] = "volume of a test";
static const uint8_t other[16] = "another volume..";
static const struct chunk_table_shape shape = { .buckets = 1000, .slots = 50 };
static char folder_name[] = "/tmp/test-tier-XXXXXX";
static int folder;

static int make_folder(void **state)
{
	assert_non_null(mkdtemp(folder_name));
	folder = open(folder_name, O_RDONLY | O_DIRECTORY);
	return folder < 0;
}

static int remove_folder(void **state)
{
	(void)unlinkat(folder, CHUNK_TABLE_NAME, 0);
	(void)unlinkat(folder, CHUNK_TABLE_NAME ".new", 0);
	(void)unlinkat(folder, STORE_DATA, 0);
	(void)unlinkat(folder, STORE_LOCK, 0);
	close(folder);
	return rmdir(folder_name);
}

static void write_saved(const void *bytes, size_t length)
{
	int fd = openat(folder, CHUNK_TABLE_NAME, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, length), (ssize_t)length);
	close(fd);
}

static void test_saved_table_comes_back(void **state)
{
	struct chunk_table_shape found = { 0 };
	struct chunk_table table, again;
	uint64_t block = 0;
	uint32_t slot;
	int fd = -1;

	CHECK_FAILS(chunk_table_find(folder, volume, &fd, &found, &err), -ENOENT, "cannot open 'map'");
	CHECK_OK(chunk_table_new(&shape, volume, &table, &err));
	for (uint64_t i = 0; i < 1000; i++)
		assert_true(chunk_map_put(&table.map, key_of(i), i + 1));
	assert_true(slots_take(&table.slots, 100 * DAY, &slot));
	CHECK_OK(chunk_table_save(&table, folder, &err));
	CHECK_OK(chunk_table_save(&table, folder, &err));
	CHECK_OK(chunk_table_find(folder, volume, &fd, &found, &err));
	assert_int_equal(found.buckets, shape.buckets);
	assert_int_equal(found.slots, shape.slots);
	CHECK_OK(chunk_table_new(&found, volume, &again, &err));
	CHECK_OK(chunk_table_load(&again, fd, &err));
	close(fd);
	assert_int_equal(again.slots.free, shape.slots - 1);
	assert_int_equal(again.slots.taken, 1);
	assert_true(slots_take(&again.slots, 100 * DAY, &slot));
	assert_int_equal(slot, 1);
	for (uint64_t i = 0; i < 1000; i++)
		assert_true(chunk_map_find(&again.map, key_of(i), &block) && block == i + 1);
	CHECK_FAILS(chunk_table_find(folder, other, &fd, &found, &err), -EBADMSG, "another volume");
	chunk_table_close(&table);
	chunk_table_close(&again);
}

/* A cache that has become smaller has fewer slots, and knows the words. */
static void test_saved_table_of_another_size(void **state)
{
	struct chunk_table_shape found = { 0 }, smaller = { .buckets = shape.buckets, .slots = 3 };
	struct chunk_table table;
	int fd = -1;

	CHECK_OK(chunk_table_find(folder, volume, &fd, &found, &err));
	CHECK_OK(chunk_table_new(&smaller, volume, &table, &err));
	CHECK_OK(chunk_table_load(&table, fd, &err));
	assert_int_equal(table.slots.count, 3);
	assert_int_equal(table.slots.free, 2);
	chunk_table_close(&table);
	smaller.buckets++;
	CHECK_OK(chunk_table_new(&smaller, volume, &table, &err));
	CHECK_FAILS(chunk_table_load(&table, fd, &err), -EBADMSG, "it has 1000 buckets, expected 1001");
	chunk_table_close(&table);
	close(fd);
}

/* LENGTH words: 10000000 show how long a large cache takes to load. */
static void test_many_words_are_loaded(void **state)
{
	const char *length = getenv("LENGTH");
	uint64_t words = length ? strtoull(length, NULL, 10) : 20000, block, found = 0;
	struct chunk_table_shape many = { chunk_map_buckets(words), (uint32_t)(words / 100) }, saved = { 0 };
	struct chunk_table table;
	int64_t begun;
	clock_t cpu;
	int fd;

	CHECK_OK(chunk_table_new(&many, volume, &table, &err));
	for (uint64_t i = 0; i < words; i++)
		(void)chunk_map_put(&table.map, key_of(i), i);
	CHECK_OK(chunk_table_save(&table, folder, &err));
	chunk_table_close(&table);
	begun = clock_now();
	cpu = clock();
	CHECK_OK(chunk_table_find(folder, volume, &fd, &saved, &err));
	CHECK_OK(chunk_table_new(&saved, volume, &table, &err));
	CHECK_OK(chunk_table_load(&table, fd, &err));
	print_message("%ju words are loaded in %jd us, of which %jd of CPU\n", (uintmax_t)words,
		      (intmax_t)((clock_now() - begun) / 1000), (intmax_t)(clock() - cpu));
	for (uint64_t i = 0; i < words; i++)
		found += chunk_map_find(&table.map, key_of(i), &block);
	assert_true(found >= words - words / 1000);
	close(fd);
	chunk_table_close(&table);
	assert_int_equal(unlinkat(folder, CHUNK_TABLE_NAME, 0), 0);
}

/* ---- tables that are left to another process ---- */

static int copy_of(int fd)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	assert_true(copy >= 0);
	return copy;
}

/* A process that ends without a word leaves its last change too. */
static void test_table_is_taken_over(void **state)
{
	struct chunk_table table, again;
	uint64_t block = 0;
	uint32_t slot;
	int fd;

	CHECK_OK(chunk_table_new(&shape, volume, &table, &err));
	fd = copy_of(table.fd);
	for (uint32_t i = 0; i < 3; i++)
		assert_true(slots_take(&table.slots, 100 * DAY, &slot));
	chunk_table_note(&table);
	for (uint64_t i = 0; i < 1000; i++)
		assert_true(chunk_map_put(&table.map, key_of(i), i + 1));
	chunk_table_close(&table);
	CHECK_OK(chunk_table_adopt(fd, volume, &again, &err));
	assert_int_equal(again.map.buckets, shape.buckets);
	assert_int_equal(again.slots.count, shape.slots);
	assert_int_equal(again.slots.free, shape.slots - 3);
	assert_int_equal(again.slots.taken, 3);
	assert_true(slots_take(&again.slots, 100 * DAY, &slot));
	assert_int_equal(slot, 3);
	for (uint64_t i = 0; i < 1000; i++)
		assert_true(chunk_map_find(&again.map, key_of(i), &block) && block == i + 1);
	CHECK_FAILS(chunk_table_adopt(again.fd, other, &table, &err), -EBADMSG, "another volume");
	chunk_table_close(&again);
}

/* Takes over, and borrows, a memory file that has this head, and must not. */
static void refuse_memory(const struct chunk_table_head *head, size_t size, int seals, const char *text)
{
	struct chunk_table table;
	int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	assert_int_equal(pwrite(fd, head, sizeof(*head), 0), sizeof(*head));
	assert_int_equal(ftruncate(fd, (off_t)size), 0);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, seals), 0);
	CHECK_FAILS(chunk_table_adopt(fd, volume, &table, &err), -EBADMSG, text);
	CHECK_FAILS(chunk_table_borrow(fd, &table, &err), -EBADMSG, text);
	close(fd);
}

static void test_foreign_memory_is_refused(void **state)
{
	const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
	struct chunk_table_head head = { .magic = dsfs_le64_of(CHUNK_TABLE_MAGIC),
					 .version = dsfs_le32_of(CHUNK_TABLE_VERSION),
					 .slot_size = dsfs_le32_of(SLOTS_SIZE), .buckets = dsfs_le64_of(1) };

	memcpy(head.volume, volume, sizeof(head.volume));
	refuse_memory(&head, 128, F_SEAL_SHRINK, "its seals are 0x2, expected 0x7");
	refuse_memory(&head, 55, seals, "it has 55 bytes, too few for a head");
	refuse_memory(&head, 4096, seals, "it has 4096 bytes, expected 128");
	head.slots = dsfs_le32_of(CHUNK_TABLE_SLOTS_MAX + 1);
	refuse_memory(&head, 128, seals, "1 buckets and 268435457 slots are impossible");
	head.slots = dsfs_le32_of(CHUNK_TABLE_SLOTS_MAX);
	refuse_memory(&head, 128, seals, "it has 128 bytes, expected 2147483776");
	head.magic = dsfs_le64_of(0);
	refuse_memory(&head, 128, seals, "it is no map of a cache");
}

static void test_foreign_files_are_refused(void **state)
{
	struct chunk_table_head head = { .magic = dsfs_le64_of(CHUNK_TABLE_MAGIC),
					 .version = dsfs_le32_of(CHUNK_TABLE_VERSION),
					 .slot_size = dsfs_le32_of(SLOTS_SIZE), .buckets = dsfs_le64_of(1) };
	struct chunk_table_shape found;
	int fd;

	memcpy(head.volume, volume, sizeof(head.volume));
	write_saved("", 0);
	CHECK_FAILS(chunk_table_find(folder, volume, &fd, &found, &err), -EBADMSG, "too few for a head");
	write_saved(&head, sizeof(head));
	CHECK_FAILS(chunk_table_find(folder, volume, &fd, &found, &err), -EBADMSG, "it has 56 bytes, expected 128");
	head.buckets = dsfs_le64_of(UINT64_MAX / 64);
	write_saved(&head, sizeof(head));
	CHECK_FAILS(chunk_table_find(folder, volume, &fd, &found, &err), -EBADMSG, "impossible");
	head.version = dsfs_le32_of(2);
	write_saved(&head, sizeof(head));
	CHECK_FAILS(chunk_table_find(folder, volume, &fd, &found, &err), -EBADMSG, "its format is 2, expected 1");
	head.magic = dsfs_le64_of(1);
	write_saved(&head, sizeof(head));
	CHECK_FAILS(chunk_table_find(folder, volume, &fd, &found, &err), -EBADMSG, "it is no map of a cache");
	assert_int_equal(unlinkat(folder, CHUNK_TABLE_NAME, 0), 0);
	assert_int_equal(mkfifoat(folder, CHUNK_TABLE_NAME, 0600), 0);
	CHECK_FAILS(chunk_table_find(folder, volume, &fd, &found, &err), -EBADMSG, "'map' is no regular file");
	assert_int_equal(unlinkat(folder, CHUNK_TABLE_NAME, 0), 0);
	assert_int_equal(symlinkat("/dev/zero", folder, CHUNK_TABLE_NAME), 0);
	CHECK_FAILS(chunk_table_find(folder, volume, &fd, &found, &err), -ELOOP, "cannot open 'map'");
	assert_int_equal(unlinkat(folder, CHUNK_TABLE_NAME, 0), 0);
}

/* ---- a store ---- */

static _Atomic unsigned told;
static char told_what[512];

static void tell(const void *owner, const struct error *why)
{
	snprintf(told_what, sizeof(told_what), "%s", why->reason);
	told++; /* last: another thread waits for it */
}

static struct store *new_store(uint64_t size, struct store_kept *kept)
{
	struct store_setup setup = { .folder = folder, .size = size, .chunks = 1000, .bytes = 4500000, .tell = tell,
				     .kept = kept };
	struct store *store;

	memcpy(setup.volume, volume, sizeof(volume));
	CHECK_OK(store_open(&setup, &store, &err));
	return store;
}

static struct store *start_store(struct store *store)
{
	CHECK_OK(store_start(store, &err));
	for (unsigned i = 0; i < 100000 && !atomic_load(&store->is_loaded); i++)
		usleep(1000);
	assert_true(atomic_load(&store->is_loaded));
	return store;
}

static struct store *open_store(uint64_t size)
{
	return start_store(new_store(size, NULL));
}

static void close_store(struct store *store)
{
	assert_true(store_stop(store));
	store_free(store);
}

static void add(struct store *store, uint64_t n)
{
	const struct chunk chunk = chunk_number(n);
	const struct iovec part = { content + n % 1000, chunk.stored };

	store_add(store, &chunk, &part, 1);
}

/* Whether the store has the right bytes of a chunk, where it says. */
static bool has(struct store *store, uint64_t n)
{
	const struct chunk chunk = chunk_number(n);
	static _Alignas(4096) uint8_t bytes[16384];
	uint64_t place;

	if (!view_find(&store->view, &chunk, &place))
		return false;
	assert_int_equal(place % 4096, chunk.address % 4096);
	assert_true(pread(store->data, bytes, sizeof(bytes), (off_t)(place / 4096 * 4096)) > (ssize_t)chunk.stored);
	return memcmp(bytes + place % 4096, content + n % 1000, chunk.stored) == 0;
}

static unsigned count_of(struct store *store, uint64_t chunks)
{
	unsigned there = 0;

	for (uint64_t i = 0; i < chunks; i++)
		there += has(store, i);
	return there;
}

/* Chunks that were added are there at once, and after the store was closed and opened again. */
static void test_store_keeps_chunks(void **state)
{
	enum { CHUNKS = 3000 };
	struct store *store = open_store(64u << 20);

	for (uint64_t i = 0; i < CHUNKS; i++) {
		add(store, i);
		if (i % 500 == 0)
			usleep(1000);
	}
	for (unsigned i = 0; i < 100000 && store_state(store).fills + store_state(store).dropped < CHUNKS; i++)
		usleep(1000);
	assert_int_equal(store_state(store).fills, CHUNKS);
	assert_int_equal(count_of(store, CHUNKS), CHUNKS);
	close_store(store);
	store = open_store(64u << 20);
	assert_int_equal(count_of(store, CHUNKS), CHUNKS);
	assert_true(store_state(store).used >= CHUNKS * 4000 && store_state(store).used < store_state(store).size);
	close_store(store);
	assert_int_equal(told, 0);
}

/* Random bytes instead of what was saved: any place is inside, and no look-up takes long. */
static void test_random_words_cost_a_read_at_most(void **state)
{
	struct store *store = open_store(64u << 20);
	const struct chunk_table *table = &store->table;
	size_t size = table->size;
	struct chunk_table_head head = { .magic = dsfs_le64_of(CHUNK_TABLE_MAGIC),
					 .version = dsfs_le32_of(CHUNK_TABLE_VERSION),
					 .slot_size = dsfs_le32_of(SLOTS_SIZE),
				   .buckets = dsfs_le64_of(table->map.buckets),
				   .slots = dsfs_le32_of(table->slots.count), .hand = dsfs_le32_of(UINT32_MAX),
				   .day = dsfs_le32_of(UINT32_MAX), .taken = dsfs_le32_of(UINT32_MAX) };
	uint64_t *saved = malloc(size), random = 88172645463325252, place;

	close_store(store);
	assert_non_null(saved);
	for (size_t i = 0; i < size / sizeof(*saved); i++) {
		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		saved[i] = random;
	}
	memcpy(head.volume, volume, sizeof(head.volume));
	memcpy(saved, &head, sizeof(head));
	write_saved(saved, size);
	free(saved);
	store = open_store(64u << 20);
	for (uint64_t i = 0; i < 100000; i++) {
		const struct chunk chunk = chunk_number(i);

		if (!view_find(&store->view, &chunk, &place))
			continue;
		assert_true(place + chunk.stored <= store_size(store));
		view_hit(&store->view, place);
		view_forget(&store->view, &chunk, place);
	}
	close_store(store);
	assert_int_equal(unlinkat(folder, CHUNK_TABLE_NAME, 0), 0);
	assert_int_equal(told, 0);
}

/* One process fills, another one reads what it saved, and goes on when it has ended. */
static void test_two_processes_share_a_store(void **state)
{
	enum { CHUNKS = 300 };
	struct store *first = open_store(64u << 20), *second;

	for (uint64_t i = 0; i < CHUNKS; i++)
		add(first, i);
	close_store(first);
	first = open_store(64u << 20);
	second = open_store(128u << 20);
	assert_true(store_accepts(first) && !store_accepts(second));
	assert_int_equal(store_admission(second), STORE_FOLLOWS);
	assert_int_equal(count_of(second, CHUNKS), CHUNKS);
	close_store(first);
	for (unsigned i = 0; i < 100000 && !store_accepts(second); i++)
		usleep(1000);
	assert_true(store_accepts(second));
	assert_int_equal(count_of(second, CHUNKS), CHUNKS);
	close_store(second);
	assert_int_equal(told, 0);
}

/* ---- a store that is left to another process ---- */

static struct store *new_empty_store(uint64_t size)
{
	(void)unlinkat(folder, CHUNK_TABLE_NAME, 0);
	(void)unlinkat(folder, STORE_DATA, 0);
	return new_store(size, NULL);
}

/* Returns how many of every 16th chunk are found; *ret_wrong: of which other bytes are there, which readers then
 * forget. */
static unsigned look_for(struct store *store, uint64_t chunks, unsigned *ret_wrong)
{
	unsigned there = 0;
	uint64_t place;

	*ret_wrong = 0;
	for (uint64_t i = 0; i < chunks; i += 16) {
		const struct chunk chunk = chunk_number(i);

		if (!view_find(&store->view, &chunk, &place))
			continue;
		assert_true(place + chunk.stored <= store_size(store));
		there++;
		if (has(store, i))
			continue;
		view_forget(&store->view, &chunk, place);
		(*ret_wrong)++;
	}
	return there;
}

static bool is_nowhere(const void *argument, uint64_t block)
{
	return false;
}

static uint64_t words_of(struct store *store)
{
	return chunk_map_sweep(&store->table.map, is_nowhere, NULL);
}

/* Chunks that come when it is full are not counted. */
static void fill(struct store *store, uint64_t chunks)
{
	start_store(store);
	for (uint64_t i = 0; i < chunks; i++) {
		add(store, i);
		if (i % 200 == 199)
			usleep(1000);
	}
	while (store_accepts(store) && store_state(store).fills + store_state(store).dropped < chunks)
		usleep(1000);
}

/* Fills in another process, which is killed when it has changed the words so many times, or at its end. Both have the
 * memory, and the caller keeps the descriptors, as a supervisor does. */
static void fill_and_die(struct store *store, uint64_t chunks, unsigned changes)
{
	pid_t child = fork(), ended = 0;
	uint64_t before = words_of(store), now;
	int status = 0;

	if (child == 0) {
		fill(store, chunks);
		raise(SIGKILL);
	}
	assert_true(child > 0);
	for (; changes && !ended; before = now) {
		ended = waitpid(child, &status, WNOHANG);
		now = words_of(store);
		changes -= now != before;
		usleep(100);
	}
	if (!ended && changes == 0)
		kill(child, SIGKILL);
	if (!ended)
		ended = waitpid(child, &status, 0);
	assert_int_equal(ended, child);
	assert_int_equal(WTERMSIG(status), SIGKILL);
}

/* Returns a store that takes over from this one, whose thread never ran here. */
static struct store *successor_of(struct store *store)
{
	struct store_kept kept = { copy_of(store->table.fd), copy_of(store->data), copy_of(store->lock) };
	struct store *next;

	store_free(store);
	next = new_store(64u << 20, &kept);
	assert_true(kept.map < 0 && kept.data < 0 && kept.lock < 0);
	return next;
}

/* Chunks that were filled are there at once, though nothing was saved, and nobody else fills meanwhile. */
static void test_store_has_a_successor(void **state)
{
	enum { CHUNKS = 800 };
	struct store *store = new_empty_store(64u << 20), *second;

	fill_and_die(store, CHUNKS, UINT_MAX);
	assert_int_equal(unlinkat(folder, CHUNK_TABLE_NAME, 0), 0);
	store = successor_of(store);
	second = open_store(64u << 20);
	assert_false(store_accepts(second));
	close_store(second);
	start_store(store);
	assert_true(store_accepts(store));
	assert_int_equal(count_of(store, CHUNKS), CHUNKS);
	assert_in_range(store_state(store).used, CHUNKS * 4000, 2 * SLOTS_SIZE);
	close_store(store);
	store = open_store(64u << 20); /* it has saved what it took over */
	assert_int_equal(count_of(store, CHUNKS), CHUNKS);
	close_store(store);
	assert_int_equal(told, 0);
}

/* It was killed before all that was saved was in memory, so nobody has its lock. */
static void test_store_that_had_not_loaded(void **state)
{
	enum { CHUNKS = 300 };
	struct store *store = start_store(new_empty_store(64u << 20));
	struct store_kept kept = { -1, -1, -1 };

	for (uint64_t i = 0; i < CHUNKS; i++)
		add(store, i);
	close_store(store);
	store = new_store(64u << 20, NULL); /* its thread would load */
	kept.map = copy_of(store->table.fd);
	kept.data = copy_of(store->data);
	store_free(store);
	store = start_store(new_store(64u << 20, &kept));
	for (unsigned i = 0; i < 100000 && !store_accepts(store); i++)
		usleep(1000);
	assert_true(store_accepts(store));
	assert_int_equal(count_of(store, CHUNKS), CHUNKS);
	close_store(store);
	assert_int_equal(told, 0);
}

/* Nobody has read what is in any slot for long. */
static void grow_old(struct store *store)
{
	const struct slots *slots = &store->table.slots;

	for (uint32_t i = 0; i < slots->count; i++)
		if (!slots_is_free(slots, i)) {
			atomic_store(&slots->list[i].filled, 1);
			atomic_store(&slots->list[i].hit, 1);
		}
}

/* The next day, so that as many slots may be taken as there are. */
static struct store *successor_tomorrow(struct store *store)
{
	store = successor_of(store);
	store->table.slots.taken = 0;
	chunk_table_note(&store->table);
	return store;
}

/* Whenever a process is killed that fills the same slots again and again, its words are right or lead to other bytes,
 * which readers notice. */
static void test_store_whose_process_is_killed(void **state)
{
	enum { CHUNKS = 3000, ROUNDS = 4 };
	struct store *store = new_empty_store(12u << 20);
	uint64_t words = 0;
	unsigned wrong;

	srand(7);
	for (unsigned round = 0; round < ROUNDS; round++) {
		fill_and_die(store, CHUNKS, 1 + (unsigned)rand() % 3);
		store = successor_tomorrow(store);
		words += words_of(store);
		(void)look_for(store, CHUNKS, &wrong);
		(void)look_for(store, CHUNKS, &wrong);
		assert_int_equal(wrong, 0);
		grow_old(store);
	}
	assert_true(words > 0);
	store_free(store);
	assert_int_equal(told, 0);
}

/* It was killed between the slots that are free again and the words that lead to them. */
static void test_store_that_was_killed_while_it_reclaims(void **state)
{
	enum { CHUNKS = 1500, OTHERS = 5333 };
	struct store *store = new_empty_store(12u << 20);
	unsigned wrong, there;

	fill_and_die(store, CHUNKS, UINT_MAX);
	store = successor_tomorrow(store);
	assert_int_equal(store->table.slots.free, 0);
	grow_old(store);
	assert_int_equal(slots_reclaim(&store->table.slots, 1000 * DAY), 1);
	store = start_store(successor_tomorrow(store));
	for (uint64_t i = 0; i < 500; i++)
		add(store, OTHERS + i);
	for (unsigned i = 0; i < 100000 && store_state(store).fills + store_state(store).dropped < 500; i++)
		usleep(1000);
	there = look_for(store, CHUNKS, &wrong);
	assert_in_range(wrong, 5, there);
	there -= wrong;
	assert_int_equal(look_for(store, CHUNKS, &wrong), there);
	assert_int_equal(wrong, 0);
	close_store(store);
	assert_int_equal(told, 0);
}

/* A caller that waits for room loses nothing, and knows when all of it can be found. */
static void test_offers_wait_for_room(void **state)
{
	enum { CHUNKS = 9000 }; /* ten buffers */
	struct store *store;
	uint64_t staged;

	store_remove(folder);
	store = open_store(64u << 20);
	for (uint64_t i = 0; i < CHUNKS; i++) {
		while (!store_has_room(store))
			usleep(100);
		add(store, i);
	}
	staged = store_staged(store);
	assert_int_equal(staged, CHUNKS);
	for (unsigned i = 0; i < 100000 && !store_is_written(store, staged); i++)
		usleep(1000);
	assert_true(store_is_written(store, staged) && !store_is_written(store, staged + 1));
	assert_int_equal(store_state(store).dropped, 0);
	assert_int_equal(count_of(store, CHUNKS), CHUNKS);
	close_store(store);
}

/* Nobody waits for chunks that do not fit any more. */
static void test_full_store_says_so(void **state)
{
	struct store *store;
	uint64_t staged;

	store_remove(folder);
	store = open_store(24u << 20);
	for (uint64_t i = 0; i < 9000 && store_accepts(store); i++) {
		while (!store_has_room(store))
			usleep(100);
		add(store, i);
	}
	staged = store_staged(store);
	for (unsigned i = 0; i < 100000 && !store_is_written(store, staged); i++)
		usleep(1000);
	assert_true(store_is_written(store, staged));
	assert_int_equal(store_admission(store), STORE_FULL);
	assert_int_equal(store_state(store).used, store_state(store).size);
	close_store(store);
	store_remove(folder);
}

/* ---- a lent view ---- */

/* Opens a descriptor again for reading, as a client gets it. */
static int lent_fd(int fd)
{
	char path[32];
	int again;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	again = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(again >= 0);
	return again;
}

static struct view *borrow(const struct store *store)
{
	int table = lent_fd(store->table.fd);
	struct view *view;

	CHECK_OK(view_borrow(table, lent_fd(store->data), &view, &err));
	close(table);
	return view;
}

static unsigned found_of(const struct view *view, uint64_t chunks)
{
	unsigned found = 0;
	uint64_t place;

	for (uint64_t i = 0; i < chunks; i++) {
		const struct chunk chunk = chunk_number(i);

		found += view_find(view, &chunk, &place);
	}
	return found;
}

static void await_fills(struct store *store, uint64_t fills)
{
	for (unsigned i = 0; i < 10000 && store_state(store).fills < fills; i++)
		usleep(1000);
	assert_int_equal(store_state(store).fills, fills);
}

/* A borrower finds what is there and what is added, and what it forgets is forgotten for nobody else. */
static void test_lent_view_follows_its_owner(void **state)
{
	enum { CHUNKS = 500 };
	struct store *store = start_store(new_empty_store(64u << 20));
	struct view *view = borrow(store);
	const struct chunk chunk = chunk_number(200001);
	uint64_t place, elsewhere;

	for (uint64_t i = 0; i < CHUNKS; i++)
		add(store, i);
	await_fills(store, CHUNKS);
	assert_int_equal(found_of(view, CHUNKS), CHUNKS);
	assert_false(view_find(view, &chunk, &place));
	add(store, 200001);
	await_fills(store, CHUNKS + 1);
	assert_true(view_find(view, &chunk, &place));
	view_forget(view, &chunk, place);
	assert_false(view_find(view, &chunk, &elsewhere));
	assert_true(view_find(&store->view, &chunk, &elsewhere) && elsewhere == place);
	assert_int_equal(found_of(view, CHUNKS), CHUNKS);
	view_forget(&store->view, &chunk, place); /* and then it is added again, elsewhere */
	add(store, 200001);
	await_fills(store, CHUNKS + 2);
	assert_true(view_find(view, &chunk, &elsewhere) && elsewhere != place);
	view_forget(&store->view, &chunk, elsewhere);
	view_return(view);
	close_store(store);
}

/* A view goes on with the successor of the server that lent it, as that has the same memory. */
static void test_lent_view_follows_a_successor(void **state)
{
	enum { CHUNKS = 800 };
	struct store *store = new_empty_store(64u << 20);
	struct view *view = borrow(store);
	const struct chunk chunk = chunk_number(200001);
	uint64_t place;

	fill_and_die(store, CHUNKS, UINT_MAX);
	assert_int_equal(found_of(view, CHUNKS), CHUNKS);
	store = start_store(successor_of(store));
	assert_false(view_find(view, &chunk, &place));
	add(store, 200001);
	await_fills(store, 1);
	assert_true(view_find(view, &chunk, &place));
	assert_int_equal(found_of(view, CHUNKS), CHUNKS);
	view_return(view);
	close_store(store);
}

/* A borrower tells what it hit, once. */
static void test_lent_view_notes_hits(void **state)
{
	struct store *store = open_store(600u << 20);
	struct view *view = borrow(store);
	uint32_t before = atomic_load(&store->table.slots.list[140].hit), at = 0;
	uint64_t bits[2];

	assert_true(store->table.slots.count > 141);
	assert_false(view_take_hits(view, &at, bits, 2));
	view_hit(view, UINT64_C(70) * SLOTS_SIZE + 5);
	view_hit(view, UINT64_C(70) * SLOTS_SIZE + 500);
	view_hit(view, UINT64_C(140) * SLOTS_SIZE);
	assert_true(view_take_hits(view, &at, bits, 2));
	assert_int_equal(at, 1);
	assert_true(bits[0] == UINT64_C(1) << 6 && bits[1] == UINT64_C(1) << 12);
	at += 2;
	assert_false(view_take_hits(view, &at, bits, 2));
	at += 500; /* as much further as a message has room for */
	assert_false(view_take_hits(view, &at, bits, 2));
	at = 0;
	assert_false(view_take_hits(view, &at, bits, 2));
	assert_int_equal(atomic_load(&store->table.slots.list[140].hit), before);
	view_return(view);
	close_store(store);
}

/* Neither the table nor the chunks can be written with what a borrower has; another user cannot open them again. */
static void test_lent_view_cannot_be_written(void **state)
{
	struct store *store = open_store(64u << 20);
	int table = lent_fd(store->table.fd), data = lent_fd(store->data);
	struct stat st;

	assert_ptr_equal(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, table, 0), MAP_FAILED);
	assert_int_equal(errno, EACCES);
	assert_ptr_equal(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, data, 0), MAP_FAILED);
	assert_int_equal(errno, EACCES);
	assert_int_equal(pwrite(table, "x", 1, 0) + pwrite(data, "x", 1, 0), -2);
	assert_int_equal(ftruncate(table, 0) + ftruncate(store->table.fd, 0), -2);
	assert_int_equal(fstat(table, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(fstat(data, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	close(table);
	close(data);
	close_store(store);
}

static void test_impossible_loans_are_refused(void **state)
{
	struct store *store = open_store(64u << 20);
	int table = lent_fd(store->table.fd), data = lent_fd(store->data), bare = memfd_create("bare", 0);
	struct view *view;

	CHECK_FAILS(view_borrow(table, store->data, &view, &err), -EPROTO, "open for reading alone");
	CHECK_FAILS(view_borrow(table, folder, &view, &err), -EPROTO, "no regular file");
	CHECK_FAILS(view_borrow(bare, data, &view, &err), -EBADMSG, "its seals are 0x1, expected 0x7");
	close(bare);
	close(table);
	close(data);
	close_store(store);
}

/* A program may close a descriptor and have its number for something else: that is not read twice, and not closed. */
static void test_lent_view_loses_its_number(void **state)
{
	struct store *store = open_store(64u << 20);
	struct view *view = borrow(store), *next = borrow(store), *last = borrow(store);
	const struct chunk chunk = chunk_number(200001);
	int number = view_data(view), null = open("/dev/null", O_RDONLY);
	uint64_t place;

	add(store, 200001);
	await_fills(store, 1);
	assert_true(view_follow(next, view));
	assert_int_equal(view_data(next), number);
	view_return(view);
	assert_int_equal(lseek(number, 0, SEEK_CUR), 0); /* it is still open */
	assert_int_equal(dup2(null, number), number);
	assert_false(view_follow(last, next));
	assert_true(view_find(next, &chunk, &place));
	view_forget(next, &chunk, place);
	assert_int_equal(found_of(next, 4000), 0);
	view_return(next);
	assert_int_equal(fcntl(number, F_GETFD), 0);
	view_return(last);
	close(number);
	close(null);
	close_store(store);
}

static void wait_until_told(unsigned times)
{
	for (unsigned i = 0; i < 20000 && told < times; i++)
		usleep(1000);
	assert_int_equal(told, times);
}

static void test_removed_store_is_left_alone(void **state)
{
	struct store *store = start_store(new_empty_store(64u << 20));

	assert_int_equal(unlinkat(folder, STORE_DATA, 0), 0);
	add(store, 100000); /* a new one */
	wait_until_told(1);
	assert_int_equal(store_admission(store), STORE_REMOVED);
	close_store(store);
	assert_int_equal(told, 1);
	assert_string_equal(told_what, "it was removed, nothing is added to it until the next mount");
	told = 0;
}

/* A cache that fails may be one that somebody then removes. */
static void test_removal_is_told_after_a_failure(void **state)
{
	struct store *store = start_store(new_empty_store(64u << 20));
	int data = lent_fd(store->data);

	assert_int_equal(dup2(data, store->data), store->data); /* for reading only */
	add(store, 100000);
	wait_until_told(1);
	assert_string_equal(told_what, "cannot write to 'data': Bad file descriptor");
	assert_int_equal(unlinkat(folder, STORE_DATA, 0), 0);
	for (uint64_t i = 1; i < 2000; i++) /* into the next slot, too */
		add(store, 100000 + i);
	wait_until_told(2);
	assert_string_equal(told_what, "it was removed, nothing is added to it until the next mount");
	close(data);
	close_store(store);
	told = 0;
}

static void test_sizes_that_no_filesystem_has(void **state)
{
	struct folder_room room;
	struct store_setup setup = { .folder = folder, .size = 5000, .chunks = 1000, .bytes = 4500000, .tell = tell };
	struct store *store;

	CHECK_FAILS(store_open(&setup, &store, &err), -ENOSPC, "it may take only 4.88 KiB and needs 4.00 MiB");
	setup.size = UINT64_C(1) << 62;
	assert_int_equal(store_open(&setup, &store, NULL), 0);
	assert_int_equal(folder_room(folder, &room, NULL), 0);
	assert_true(store_size(store) <= room.size / FOLDER_SPARE * (FOLDER_SPARE - 1));
	store_free(store);
}

CHECK_MAIN_WITH(make_folder, remove_folder, cmocka_unit_test(test_map_takes_what_it_was_made_for),
		cmocka_unit_test(test_map_refuses_when_full), cmocka_unit_test(test_map_clears_only_what_it_is_told),
		cmocka_unit_test(test_keys_differ), cmocka_unit_test(test_map_is_swept),
		cmocka_unit_test(test_slots_are_taken_in_turn_and_stay),
		cmocka_unit_test(test_no_more_than_all_in_a_day),
		cmocka_unit_test(test_slots_given_back_and_from_the_future),
		cmocka_unit_test(test_slots_that_somebody_else_took),
		cmocka_unit_test(test_staged_chunks_keep_their_phase), cmocka_unit_test(test_stage_is_bounded),
		cmocka_unit_test(test_closing_ends_the_wait), cmocka_unit_test(test_saved_table_comes_back),
		cmocka_unit_test(test_saved_table_of_another_size), cmocka_unit_test(test_many_words_are_loaded),
		cmocka_unit_test(test_table_is_taken_over), cmocka_unit_test(test_foreign_memory_is_refused),
		cmocka_unit_test(test_foreign_files_are_refused), cmocka_unit_test(test_store_keeps_chunks),
		cmocka_unit_test(test_random_words_cost_a_read_at_most),
		cmocka_unit_test(test_two_processes_share_a_store), cmocka_unit_test(test_store_has_a_successor),
		cmocka_unit_test(test_store_that_had_not_loaded), cmocka_unit_test(test_store_whose_process_is_killed),
		cmocka_unit_test(test_store_that_was_killed_while_it_reclaims),
		cmocka_unit_test(test_offers_wait_for_room), cmocka_unit_test(test_full_store_says_so),
		cmocka_unit_test(test_lent_view_follows_its_owner),
		cmocka_unit_test(test_lent_view_follows_a_successor), cmocka_unit_test(test_lent_view_notes_hits),
		cmocka_unit_test(test_lent_view_cannot_be_written), cmocka_unit_test(test_impossible_loans_are_refused),
		cmocka_unit_test(test_lent_view_loses_its_number), cmocka_unit_test(test_removed_store_is_left_alone),
		cmocka_unit_test(test_removal_is_told_after_a_failure),
		cmocka_unit_test(test_sizes_that_no_filesystem_has))
