/* SPDX-License-Identifier: MIT */
/* Reads by the library while the way to the device fails: they wait and are tried again. Which reads of a queue wait
 * until the kernel gets them. And neighbours that are read as one into buffers of the caller. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "image/catalogue/index_load.h"
#include "image/sums/checksum.h"
#include "lib/arena.h"
#include "lib/check.h"
#include "lib/direct/batch.h"
#include "lib/forked.h"
#include "lib/section.h"

#define AT     DSFS_DATA_AT
#define SIZE   5000u
#define APART  2u /* files that are read alone; the others lie side by side */
#define FILES  6u
#define NEXT   8192u
#define FAR    65536u
#define DEVICE (AT + APART * FAR + (FILES - APART) * NEXT)
#define FIRST  (UINT64_C(3) << DSFS_ORDINAL_BITS) /* ids of sequence 3 */

static uint8_t device[DEVICE];
static unsigned failures, reads_seen; /* of the device */
static int failure;
static struct section section;
static int fd;
static struct file_geometry geometry = { .logical_block = 512, .size = DEVICE };
static struct array_source array = { .count = 1, .fds = &fd, .geometry = &geometry };
static struct direct_volume volume = { .array = &array, .identities = { { .st_dev = 0 } } };
static struct direct direct = { .volume = &volume, .key = 1 };

static void device_read(struct engine *engine, struct io_read *read)
{
	uint64_t at = read->offset;

	reads_seen++;
	if (failures) {
		failures--;
		read->done(read, failure);
		return;
	}
	for (int i = 0; i < read->iov_count; at += read->iov[i++].iov_len)
		memcpy(read->iov[i].iov_base, device + at, read->iov[i].iov_len);
	read->done(read, (int)(at - read->offset));
}

static int device_wait(struct engine *engine, bool block, bool *ret_readable, struct error *err)
{
	*ret_readable = false;
	return 0;
}

/* Where file i lies. */
static uint64_t place(unsigned i)
{
	return AT + (i < APART ? i * FAR : APART * FAR + (i - APART) * NEXT);
}

static void open_direct(void)
{
	static const uint64_t sizes[1] = { DEVICE };
	struct version version = { 0 };
	char name[2] = "a";

	for (size_t i = 0; i < DEVICE; i++)
		device[i] = (uint8_t)(i * 2654435761u >> 13);
	section_init(&section);
	for (unsigned i = 0; i < FILES; i++, name[0]++) {
		uint64_t sum = checksum_64(device + place(i), SIZE);

		section_file(&section, 1, name, SIZE,
			     section_chunk(&section, place(i), sum, SIZE, DSFS_CODEC_RAW));
	}
	CHECK_OK(index_load_fd(section_write(&section, &version), &version, sizes[0], NULL, &direct.version.index,
			       &err));
	direct.opened.info = (struct dsfs_info){ .root = FIRST | INODE_ROOT, .ids = FILES + 1, .sequence = 3 };
	fd = memfd_create("volume", MFD_CLOEXEC);
	assert_int_equal(fstat(fd, &volume.identities[0]), 0);
}

/* Two files by a device that fails so often, then the reason. */
static void read_two(struct dsfs_read reads[2], struct error *why)
{
	static const struct engine_ops ops = { .read = device_read, .wait = device_wait };
	struct engine engine = { .ops = &ops };
	static uint8_t buffers[2][SIZE];
	struct fifo todo = fifo_of(reads, 2);
	struct batch batch = { .todo = &todo, .err = why };

	for (unsigned i = 0; i < 2; i++)
		reads[i] = (struct dsfs_read){ .id = FIRST | (2 + i), .size = SIZE, .buffer = buffers[i] };
	reads_seen = 0;
	CHECK_OK(context_enter(&direct, &batch.context, &err));
	CHECK_OK(batch_begin(&batch, false, 0, &err));
	batch.context->queue.reader.engine = &engine;
	batch_start(&batch);
	while (!batch_is_over(&batch))
		batch_wait(&batch, BATCH_FOR_EVER);
	batch_end(&batch);
	context_leave(batch.context);
}

static void check_right(const struct dsfs_read reads[2])
{
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(reads[i].result, SIZE);
		assert_memory_equal(reads[i].buffer, device + place(i), SIZE);
	}
}

static void test_path(void **state)
{
	struct dsfs_read reads[2];
	struct error why = { 0 };

	failure = -ENODEV;
	failures = 5; /* the first read twice, and once more after it waited; the second one as well */
	read_two(reads, &why);
	check_right(reads);
	assert_int_equal(reads_seen, 7);
	assert_int_equal(why.code, 0);
}

/* An error of one block is taken as lasting: the read is tried once more, and the other file is right. */
static void test_block(void **state)
{
	struct dsfs_read reads[2];
	struct error why = { 0 };

	failure = -ENODATA;
	failures = 1;
	read_two(reads, &why);
	check_right(reads);

	failures = 2;
	read_two(reads, &why);
	assert_int_equal(reads[0].result, -ENODATA);
	assert_int_equal(reads[1].result, SIZE);
	assert_int_equal(why.code, -ENODATA);
	assert_non_null(strstr(why.reason, "'/a': chunk 0 at offset "));
}

/* --- a device that gets its reads in a wait, and is done with them when the test says so --- */

struct late {
	struct engine engine;
	struct io_read *reads[16];
	unsigned count; /* of these the last engine.kept are not with it yet */
	unsigned waits;
};

static void late_read(struct engine *engine, struct io_read *read)
{
	struct late *late = (struct late *)engine;

	late->reads[late->count++] = read;
	engine->kept++;
}

static int late_wait(struct engine *engine, bool block, bool *ret_readable, struct error *why)
{
	((struct late *)engine)->waits++;
	engine->kept = 0;
	*ret_readable = false;
	return 0;
}

static void late_finish_all(struct late *late)
{
	unsigned count = late->count;

	late->count = 0;
	for (unsigned i = 0; i < count; i++)
		device_read(&late->engine, late->reads[i]);
}

/* As dsfs_queue_submit() does it. */
static bool late_submit(struct batch *batch, struct dsfs_read *read)
{
	static uint8_t buffer[SIZE];
	const struct late *late = (struct late *)batch->context->queue.reader.engine;
	unsigned waits = late->waits;

	*read = (struct dsfs_read){ .id = FIRST | 2, .size = SIZE, .buffer = buffer };
	fifo_add(batch->todo, read);
	batch_submit(batch, false);
	return late->waits > waits;
}

static void test_gather(void **state)
{
	static const struct engine_ops ops = { .read = late_read, .wait = late_wait };
	struct late late = { .engine = { .ops = &ops } };
	struct dsfs_read reads[10];
	struct fifo todo = { 0 }, done = { 0 };
	struct error why = { 0 };
	struct batch batch = { .todo = &todo, .done = &done, .gather = 4, .err = &why };

	CHECK_OK(fifo_reserve(&todo, 10, &err));
	CHECK_OK(fifo_reserve(&done, 10, &err));
	CHECK_OK(context_enter(&direct, &batch.context, &err));
	CHECK_OK(batch_begin(&batch, false, 0, &err));
	batch.context->queue.reader.engine = &late.engine;
	/* The device has nothing to do: the first goes at once. Then four together. */
	for (unsigned i = 0; i < 9; i++)
		assert_int_equal(late_submit(&batch, &reads[i]), i % 4 == 0);
	assert_int_equal(late.waits, 3);
	assert_int_equal(late.engine.kept, 0);
	late_finish_all(&late);
	assert_int_equal(done.count, 9);
	assert_true(late_submit(&batch, &reads[9]));
	late_finish_all(&late);
	assert_true(batch_is_over(&batch));
	for (unsigned i = 0; i < 10; i++)
		assert_int_equal(reads[i].result, SIZE);
	/* Without it every read goes at once. */
	batch.gather = 0;
	assert_true(late_submit(&batch, &reads[0]) && late_submit(&batch, &reads[1]));
	late_finish_all(&late);
	batch_end(&batch);
	context_leave(batch.context);
	fifo_free(&todo);
	fifo_free(&done);
}

/* --- neighbours --- */

static struct dsfs_arena *shared_arena; /* NULL: the reads have buffers */

/* Reads the neighbours into buffers by a device that is done at once; returns how often it was asked. */
static unsigned read_neighbours(struct dsfs_read *reads, struct error *why)
{
	static const struct engine_ops ops = { .read = device_read, .wait = device_wait };
	struct engine engine = { .ops = &ops };
	struct fifo todo = fifo_of(reads, FILES - APART);
	struct batch batch = { .todo = &todo, .err = why, .arena = shared_arena };

	reads_seen = 0;
	CHECK_OK(context_enter(&direct, &batch.context, &err));
	CHECK_OK(batch_begin(&batch, false, 0, &err));
	batch.context->queue.reader.engine = &engine;
	batch_start(&batch);
	assert_true(batch_is_over(&batch));
	batch_end(&batch);
	context_leave(batch.context);
	return reads_seen;
}

/* In the opposite order, with a byte behind each that stays. */
static void ask_for_neighbours(struct dsfs_read *reads, uint8_t buffers[][SIZE + 1])
{
	for (unsigned i = 0; i < FILES - APART; i++) {
		memset(buffers[i], 0xa5, SIZE + 1);
		reads[i] = (struct dsfs_read){ .id = FIRST | (1 + FILES - i), .size = SIZE, .buffer = buffers[i] };
	}
}

static void check_neighbours(const struct dsfs_read *reads, uint8_t buffers[][SIZE + 1], unsigned damaged)
{
	for (unsigned i = 0; i < FILES - APART; i++) {
		assert_ptr_equal(reads[i].buffer, buffers[i]);
		assert_int_equal(buffers[i][SIZE], 0xa5);
		if (i == damaged)
			continue;
		assert_int_equal(reads[i].result, reads[i].offset ? SIZE - (int64_t)reads[i].offset : SIZE);
		assert_memory_equal(buffers[i], device + place(FILES - 1 - i) + reads[i].offset,
				    (size_t)reads[i].result);
	}
}

static void test_buffers(void **state)
{
	static uint8_t buffers[FILES - APART][SIZE + 1];
	struct dsfs_read reads[FILES - APART];
	struct error why = { 0 };

	ask_for_neighbours(reads, buffers);
	assert_int_equal(read_neighbours(reads, &why), 1);
	check_neighbours(reads, buffers, FILES);
	ask_for_neighbours(reads, buffers);
	reads[2].offset = 100; /* not the whole file; the others lie near enough */
	assert_int_equal(read_neighbours(reads, &why), 2);
	check_neighbours(reads, buffers, FILES);
	ask_for_neighbours(reads, buffers);
	reads[0].size = SIZE - 1; /* no room for all of it */
	assert_int_equal(read_neighbours(reads, &why), 2);
	assert_int_equal(reads[0].result, SIZE - 1);
	check_neighbours(reads, buffers, 0);
	ask_for_neighbours(reads, buffers);
	reads[1].buffer = NULL; /* and there is no arena */
	assert_int_equal(read_neighbours(reads, &why), 1);
	assert_int_equal(reads[1].result, -EINVAL);
	reads[1].buffer = buffers[1];
	check_neighbours(reads, buffers, 1);
}

/* Read twice with the others, then twice alone. */
static void test_damaged_neighbour(void **state)
{
	static uint8_t buffers[FILES - APART][SIZE + 1];
	struct dsfs_read reads[FILES - APART];
	struct error why = { 0 };

	ask_for_neighbours(reads, buffers);
	device[place(FILES - 2)] ^= 1;
	assert_int_equal(read_neighbours(reads, &why), 2 + 2);
	device[place(FILES - 2)] ^= 1;
	assert_int_equal(reads[1].result, -EBADMSG);
	assert_int_equal(why.code, -EBADMSG);
	assert_non_null(strstr(why.reason, "'/e': chunk 4 at offset "));
	check_neighbours(reads, buffers, 1);
}

/* The same in an arena, where the content lies as on the volume. */
static void test_damaged_neighbour_in_an_arena(void **state)
{
	struct dsfs_read reads[FILES - APART];
	struct error why = { 0 };

	assert_int_equal(dsfs_arena_new(&shared_arena), 0);
	for (unsigned i = 0; i < FILES - APART; i++)
		reads[i] = (struct dsfs_read){ .id = FIRST | (2 + APART + i), .size = SIZE };
	device[place(APART + 1)] ^= 1;
	assert_int_equal(read_neighbours(reads, &why), 2 + 2);
	device[place(APART + 1)] ^= 1;
	for (unsigned i = 0; i < FILES - APART; i++) {
		if (i == 1) {
			assert_int_equal(reads[i].result, -EBADMSG);
			continue;
		}
		assert_int_equal(reads[i].result, SIZE);
		assert_memory_equal(reads[i].buffer, device + place(APART + i), SIZE);
	}
	dsfs_arena_free(shared_arena);
	shared_arena = NULL;
}

/* Single reads of neighbours that were held back become one read of the device. */
static void test_gathered_neighbours(void **state)
{
	static const struct engine_ops ops = { .read = late_read, .wait = late_wait };
	static uint8_t buffers[FILES - APART][SIZE + 1];
	struct late late = { .engine = { .ops = &ops } };
	struct dsfs_read first, reads[FILES - APART];
	struct fifo todo = { 0 }, done = { 0 };
	struct batch batch = { .todo = &todo, .done = &done, .gather = FILES - APART };

	CHECK_OK(fifo_reserve(&todo, FILES, &err));
	CHECK_OK(fifo_reserve(&done, FILES, &err));
	CHECK_OK(context_enter(&direct, &batch.context, &err));
	CHECK_OK(batch_begin(&batch, false, 0, &err));
	batch.context->queue.reader.engine = &late.engine;
	assert_true(late_submit(&batch, &first));
	ask_for_neighbours(reads, buffers);
	for (unsigned i = 0; i < FILES - APART; i++) {
		fifo_add(&todo, &reads[i]);
		batch_submit(&batch, false);
		assert_int_equal(late.count, i < FILES - APART - 1 ? 1 : 2);
	}
	assert_int_equal(late.engine.kept, 0);
	late_finish_all(&late);
	assert_true(batch_is_over(&batch));
	assert_int_equal(done.count, 1 + FILES - APART);
	check_neighbours(reads, buffers, FILES);
	batch_end(&batch);
	context_leave(batch.context);
	fifo_free(&todo);
	fifo_free(&done);
}

/* Also where its ring of pointers wraps. */
static void test_peek(void **state)
{
	struct dsfs_read reads[64];
	struct fifo fifo = { 0 };

	assert_null(fifo_peek(&fifo, 0));
	CHECK_OK(fifo_reserve(&fifo, 64, &err));
	for (unsigned i = 0; i < 64; i++)
		fifo_add(&fifo, &reads[i]);
	for (unsigned i = 0; i < 40; i++)
		assert_ptr_equal(fifo_take(&fifo), &reads[i]);
	for (unsigned i = 0; i < 40; i++)
		fifo_add(&fifo, &reads[i]);
	for (unsigned i = 0; i < 64; i++)
		assert_ptr_equal(fifo_peek(&fifo, i), &reads[(40 + i) % 64]);
	assert_null(fifo_peek(&fifo, 64));
	fifo_free(&fifo);
}

static void test_array(void **state)
{
	struct dsfs_read reads[3];
	struct fifo fifo = fifo_of(reads, 3);

	assert_ptr_equal(fifo_take(&fifo), &reads[0]);
	assert_ptr_equal(fifo_peek(&fifo, 1), &reads[2]);
	assert_null(fifo_peek(&fifo, 2));
	assert_ptr_equal(fifo_take(&fifo), &reads[1]);
	assert_ptr_equal(fifo_take(&fifo), &reads[2]);
	assert_null(fifo_take(&fifo));
}

/* A block that a device may write to is not used again before it is let go, and outlives a freed arena until then. */
static void test_held(void **state)
{
	struct dsfs_arena *arena;
	struct arena_block *held;
	uint8_t *first, *second;

	assert_int_equal(dsfs_arena_new(&arena), 0);
	first = arena_take(arena, 100, 1);
	dsfs_arena_reset(arena);
	assert_ptr_equal(arena_take(arena, 100, 1), first);
	held = arena_hold(arena, first);
	for (unsigned i = 0; i < 2; i++) {
		dsfs_arena_reset(arena);
		second = arena_take(arena, 100, 1);
		assert_true(second < first || second >= first + ((size_t)1 << 20));
	}
	arena_let_go(held);
	dsfs_arena_reset(arena);
	assert_ptr_equal(arena_take(arena, 100, 1), first);
	held = arena_hold(arena, first);
	dsfs_arena_free(arena);
	memset(first, 1, 100);
	arena_let_go(held);
	arena_let_go(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_path), cmocka_unit_test(test_block), cmocka_unit_test(test_gather),
		cmocka_unit_test(test_buffers), cmocka_unit_test(test_damaged_neighbour),
		cmocka_unit_test(test_damaged_neighbour_in_an_arena), cmocka_unit_test(test_gathered_neighbours),
		cmocka_unit_test(test_peek), cmocka_unit_test(test_array), cmocka_unit_test(test_held)
	};
	int r;

	CHECK_OK(forked_watch(&err));
	open_direct();
	r = cmocka_run_group_tests(tests, NULL, NULL);
	context_close_all(&direct);
	chunk_cache_free(volume.cache);
	page_cache_free(volume.pages);
	index_close(direct.version.index);
	close(fd);
	return r;
}
