/* SPDX-License-Identifier: MIT */
/* The thread that warms a cache, on a volume in memory: what it says of files that cannot be read, and what it does
 * for other jobs. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "datasetfs/control.h"
#include "image/catalogue/index_load.h"
#include "lib/check.h"
#include "lib/section.h"
#include "read/cached.h"
#include "serve/cache/legs.h"
#include "serve/cache/warm_jobs.h"
#include "serve/cache/warmer.h"
#include "serve/serve.h"

#define AT     DSFS_DATA_AT
#define CHUNK  131072u
#define DEVICE (AT + 8 * CHUNK)

static uint8_t device[DEVICE];
static char folder_name[] = "/tmp/test-warmer-XXXXXX";
static int folder, fds[2]; /* fds: of the volume and the cache */
static struct file_geometry geometry = { .logical_block = 512, .size = DEVICE };
static struct array_source array = { .count = 1, .fds = fds, .fd_count = 2, .geometry = &geometry };
static struct store *store;
static struct section section;
static struct generation generation = { .sequence = 7, .uses = 1, .key = 1, .opened.version = { .label = "v1" } };
static struct serve serve;
static void (*written)(void); /* called once when a pass has read all */

bool __real_store_is_written(const struct store *of, uint64_t staged);
bool __wrap_store_is_written(const struct store *of, uint64_t staged);

bool __wrap_store_is_written(const struct store *of, uint64_t staged)
{
	void (*call)(void) = written;

	written = NULL;
	if (call)
		call();
	return __real_store_is_written(of, staged);
}

static void tell(const void *owner, const struct error *why)
{
}

/* ---- a volume ---- */

static uint64_t chunk_at(uint64_t at, uint32_t length)
{
	return section_chunk_with(&section, at, sum_of(DSFS_SUM_XXH3_64, device + at, length), length, DSFS_CODEC_RAW);
}

/* Past the end of the device. */
static uint64_t damaged_record(void)
{
	return section_chunk(&section, DEVICE, 1, 100, DSFS_CODEC_RAW);
}

static void put(uint64_t at, const uint8_t *bytes, size_t length)
{
	assert_int_equal(pwrite(fds[0], bytes, length, (off_t)at), length);
}

/* Changes a byte there, but not in device. */
static void spoil(uint64_t at)
{
	uint8_t other = device[at] ^ 1;

	put(at, &other, 1);
}

static int begin(void **state)
{
	for (size_t i = 0; i < DEVICE; i++)
		device[i] = (uint8_t)(i * 2654435761u >> 13);
	fds[0] = memfd_create("volume", MFD_CLOEXEC);
	assert_true(fds[0] >= 0);
	put(0, device, DEVICE);
	section_init(&section);
	return 0;
}

/* ---- a mount ---- */

static void open_mount(void)
{
	struct store_setup setup = { .size = 64u << 20, .chunks = 200, .bytes = 4000000, .tell = tell };
	struct version version = { 0 };
	uint64_t size = DEVICE;

	CHECK_OK(
		index_load_fd(section_write(&section, &version), &version, size, NULL, &generation.opened.index, &err));
	snprintf(folder_name, sizeof(folder_name), "/tmp/test-warmer-XXXXXX");
	assert_non_null(mkdtemp(folder_name));
	folder = setup.folder = open(folder_name, O_RDONLY | O_DIRECTORY);
	CHECK_OK(store_open(&setup, &store, &err));
	fds[1] = store->data;
	serve = (struct serve){ .options.read.verify = true, .volume.array = &array };
	pthread_mutex_init(&serve.generations.lock, NULL);
	atomic_store(&serve.generations.current, &generation);
	CHECK_OK(cached_new(store, 1, &serve.cached, &err));
	CHECK_OK(warmer_start(&serve, &err));
}

static int end(void **state)
{
	assert_true(warmer_stop(serve.warmer));
	warmer_free(serve.warmer);
	assert_true(store_stop(store));
	cached_free(serve.cached);
	store_free(store);
	store_remove(folder);
	close(folder);
	assert_int_equal(rmdir(folder_name), 0);
	index_close(generation.opened.index);
	assert_int_equal(generation.uses, 1);
	close(fds[0]);
	return 0;
}

/* ---- jobs ---- */

static struct dsfs_warm answer;

/* Begins a job for all files, or asks about one. */
static void ask(uint64_t job, uint32_t flags)
{
	answer = (struct dsfs_warm){ .job = job, .flags = flags, .count = !job, .files = { INODE_ROOT } };
	CHECK_OK(warmer_command(serve.warmer, &answer, &err));
}

static void wait_for_end(uint64_t job)
{
	for (ask(job, 0); answer.state < DSFS_WARM_DONE; ask(job, 0))
		usleep(1000);
}

static void warm(void)
{
	CHECK_OK(store_start(store, &err));
	ask(0, DSFS_WARM_GO);
	wait_for_end(answer.job);
}

/* ---- the tests ---- */

static void test_files_are_read(void **state)
{
	section_file(&section, 1, "a", CHUNK, chunk_at(AT, CHUNK));
	section_file(&section, 1, "b", 4096, chunk_at(AT + CHUNK, 4096));
	open_mount();
	warm();
	assert_string_equal(answer.reason, "");
	assert_int_equal(answer.state, DSFS_WARM_DONE);
	assert_int_equal(answer.cached.files, 2);
	assert_int_equal(answer.read.bytes, CHUNK + 4096);
}

static void test_each_file_with_damaged_records_counts(void **state)
{
	section_file(&section, 1, "a", 4096, chunk_at(AT, 4096));
	section_file(&section, 1, "b", 100, damaged_record());
	section_file(&section, 1, "c", 100, damaged_record());
	section_file(&section, 1, "d", 100, damaged_record());
	open_mount();
	warm();
	assert_string_equal(answer.reason, "3 files cannot be read, the first is '/b': its records are damaged");
	assert_int_equal(answer.state, DSFS_WARM_FAILED);
	assert_int_equal(answer.cached.files, 1);
	assert_int_equal(answer.missing.files, 3);
}

/* Two files begin with the same chunk, and one of them has a damaged record behind it. */
static void damaged_beside_good(bool is_damaged_first)
{
	uint64_t good, damaged;

	good = chunk_at(AT, CHUNK);
	chunk_at(AT + CHUNK, 4096);
	damaged = chunk_at(AT, CHUNK);
	damaged_record();
	section_file(&section, 1, "a", CHUNK + 4096, is_damaged_first ? damaged : good);
	section_file(&section, 1, "b", CHUNK + 4096, is_damaged_first ? good : damaged);
	open_mount();
	warm();
	assert_int_equal(answer.state, DSFS_WARM_FAILED);
	assert_string_equal(answer.reason, is_damaged_first ?
			    "1 file cannot be read, the first is '/a': its records are damaged" :
			    "1 file cannot be read, the first is '/b': its records are damaged");
	assert_int_equal(answer.cached.files, 1);
}

static void test_a_damaged_file_hides_no_other_after_it(void **state)
{
	damaged_beside_good(true);
}

static void test_a_damaged_file_hides_no_other_before_it(void **state)
{
	damaged_beside_good(false);
}

/* As above, but the end of the first file cannot be read, and no other file is missing. */
static void test_an_unreadable_file_hides_no_other(void **state)
{
	uint64_t common;

	for (unsigned i = 1; i < 4; i++) {
		common = chunk_at(AT, CHUNK);
		chunk_at(AT + i * CHUNK, 4096);
		section_file(&section, 1, (char[]){ (char)('a' + i), 0 }, CHUNK + 4096, common);
	}
	spoil(AT + CHUNK);
	open_mount();
	warm();
	assert_int_equal(answer.state, DSFS_WARM_FAILED);
	assert_non_null(strstr(answer.reason, "1 file cannot be read, the first is '/b': "));
	assert_int_equal(answer.cached.files, 2);
}

/* The first file can be read now, and the ends of the others cannot. */
static void after_a_pass(void)
{
	put(AT, device + AT, 1);
	spoil(AT + 2 * CHUNK);
	spoil(AT + 3 * CHUNK);
}

/* One of two files with the same beginning is read in the second pass. */
static void test_a_pass_names_a_file_of_its_own(void **state)
{
	uint64_t common;

	section_file(&section, 1, "a", 4096, chunk_at(AT, 4096));
	spoil(AT);
	common = chunk_at(AT + CHUNK, CHUNK);
	chunk_at(AT + 2 * CHUNK, 4096);
	section_file(&section, 1, "b", CHUNK + 4096, common);
	common = chunk_at(AT + CHUNK, CHUNK);
	chunk_at(AT + 3 * CHUNK, 4096);
	section_file(&section, 1, "c", CHUNK + 4096, common);
	written = after_a_pass;
	open_mount();
	warm();
	assert_non_null(strstr(answer.reason, "1 file cannot be read, the first is '/"));
	assert_null(strstr(answer.reason, "'/a'"));
	assert_int_equal(answer.cached.files, 2);
}

/* The first job waits for the table of the cache, which is not loaded before its thread runs. */
static void test_ended_jobs_make_room_while_one_runs(void **state)
{
	uint64_t running;

	section_file(&section, 1, "a", 4096, chunk_at(AT, 4096));
	open_mount();
	ask(0, DSFS_WARM_GO);
	for (running = answer.job; answer.state == DSFS_WARM_WAITS; ask(running, 0))
		usleep(1000);
	for (unsigned i = 0; i < 2 * WARM_JOBS_JOBS; i++) {
		do
			answer = (struct dsfs_warm){ .flags = DSFS_WARM_STOP };
		while (warmer_command(serve.warmer, &answer, NULL) == -EBUSY && usleep(1000) == 0);
		assert_int_equal(answer.state, DSFS_WARM_STOPPED);
	}
	ask(running, 0);
	assert_int_equal(answer.state, DSFS_WARM_LOOKS);
	CHECK_OK(store_start(store, &err));
	wait_for_end(running);
	assert_int_equal(answer.state, DSFS_WARM_DONE);
}

/* ---- a drive that does not return a read ---- */

static struct io_read *held;

static void hold_read(struct engine *engine, struct io_read *read)
{
	held = read;
}

static int hold_wait(struct engine *engine, bool block, bool *ret_readable, struct error *err)
{
	*ret_readable = false;
	return 0;
}

static void test_a_stuck_leg_is_left(void **state)
{
	static const struct engine_ops ops = { .read = hold_read, .wait = hold_wait };
	static struct counters counters;
	static struct legs legs;
	const struct legs_file file = { .ordinal = 2 };
	struct engine engine = { .ops = &ops };
	struct wake wake;

	section_file(&section, 1, "a", 4096, chunk_at(AT, 4096));
	open_mount();
	warm();
	CHECK_OK(wake_open(&wake, &err));
	legs = (struct legs){ .serve = &serve, .wake = &wake, .goes_on = true };
	CHECK_OK(legs_open(&legs, &counters, &err));
	legs.queue.reader.engine = &engine;
	legs_begin(&legs, &generation);
	assert_int_equal(legs_read(&legs, &file, 1), 1);
	assert_int_equal(held->member, serve.cached->member);
	atomic_store(&serve.cached->balance.route->members[BALANCE_CACHE].progress, clock_now() - INT64_C(10000000000));
	legs.queue.looked = 0;
	legs_cancel(&legs);
	legs_wait(&legs, 1);
	assert_int_equal(legs.queue.left, 1);
	assert_int_equal(legs.queue.reading, 0);
	assert_true(legs.was_left);
	held->done(held, -EIO);
	assert_int_equal(legs.queue.left, 0);
	legs_close(&legs);
	wake_close(&wake);
}

CHECK_MAIN(cmocka_unit_test_setup_teardown(test_files_are_read, begin, end),
	   cmocka_unit_test_setup_teardown(test_each_file_with_damaged_records_counts, begin, end),
	   cmocka_unit_test_setup_teardown(test_a_damaged_file_hides_no_other_after_it, begin, end),
	   cmocka_unit_test_setup_teardown(test_a_damaged_file_hides_no_other_before_it, begin, end),
	   cmocka_unit_test_setup_teardown(test_an_unreadable_file_hides_no_other, begin, end),
	   cmocka_unit_test_setup_teardown(test_a_pass_names_a_file_of_its_own, begin, end),
	   cmocka_unit_test_setup_teardown(test_ended_jobs_make_room_while_one_runs, begin, end),
	   cmocka_unit_test_setup_teardown(test_a_stuck_leg_is_left, begin, end))
