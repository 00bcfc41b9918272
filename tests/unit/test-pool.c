/* SPDX-License-Identifier: MIT */
/* The engine without io_uring: reads of a member that hangs keep their threads, and others go on; the owner's wait ends
 * by reads, by its wake and by the polled descriptor. preadv(2) of the library is the one below. */
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/uio.h>
#include <unistd.h>

#include "io/engine.h"
#include "lib/check.h"

#define DEPTH 4
#define HANGS 1000 /* as descriptors, members: this one does not answer until it is let go */
#define WELL  1001

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static unsigned hanging;
static bool is_let_go;
static pthread_t last;

ssize_t preadv(int fd, const struct iovec *iov, int count, off_t offset)
{
	pthread_mutex_lock(&lock);
	last = pthread_self();
	hanging += fd == HANGS;
	pthread_cond_broadcast(&changed);
	while (fd == HANGS && !is_let_go)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
	return (ssize_t)iov->iov_len;
}

static void wait_for_hanging(unsigned count)
{
	pthread_mutex_lock(&lock);
	while (hanging < count)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
}

static void let_go(void)
{
	pthread_mutex_lock(&lock);
	is_let_go = true;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

static unsigned ended, woken;
static uint8_t memory[16];

static void read_done(struct io_read *read, int result)
{
	assert_int_equal(result, read->member < 2 ? (int)sizeof(memory) : -ENXIO);
	ended++;
}

static struct io_read make_read(uint32_t member)
{
	return (struct io_read){ .member = member, .iov = { { memory, sizeof(memory) } }, .iov_count = 1,
				 .done = read_done };
}

static void take_wake(void *argument)
{
	uint64_t count;

	assert_int_equal(read(*(int *)argument, &count, sizeof(count)), sizeof(count));
	woken++;
}

static const int members[] = { HANGS, WELL };

static void fill(void)
{
	hanging = ended = woken = 0;
	is_let_go = false;
}

static void test_a_member_that_hangs(void **state)
{
	int wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	const struct engine_setup setup = { .poll_fd = -1, .wake = wake, .woken = take_wake, .woken_argument = &wake,
					    .volume_fds = members, .member_count = 2, .depth = DEPTH };
	struct io_read stuck[DEPTH], others[2 * DEPTH];
	struct engine *engine;
	bool readable;

	fill();
	CHECK_OK(pool_new(&setup, &engine, &err));
	for (unsigned i = 0; i < DEPTH; i++) {
		stuck[i] = make_read(0);
		engine_read(engine, &stuck[i]);
	}
	CHECK_OK(engine_wait(engine, false, &readable, &err));
	wait_for_hanging(DEPTH);
	for (unsigned i = 0; i < 2 * DEPTH; i++) {
		others[i] = make_read(1);
		engine_read(engine, &others[i]);
	}
	engine->timeout = 1000000;
	CHECK_OK(engine_wait(engine, true, &readable, &err));
	assert_int_equal(ended, 0); /* all threads hang */
	engine->left = DEPTH;
	engine->timeout = 0;
	while (ended < 2 * DEPTH)
		CHECK_OK(engine_wait(engine, true, &readable, &err));
	let_go();
	while (ended < 3 * DEPTH)
		CHECK_OK(engine_wait(engine, true, &readable, &err));
	assert_false(readable);
	engine_free(engine);
	close(wake);
}

static void test_waits(void **state)
{
	int wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), polled = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	const struct engine_setup setup = { .poll_fd = polled, .wake = wake, .woken = take_wake,
					    .woken_argument = &wake, .volume_fds = members, .member_count = 2,
					    .depth = DEPTH };
	struct io_read read = make_read(1), wrong = make_read(2);
	struct engine *engine;
	bool readable;

	fill();
	CHECK_OK(pool_new(&setup, &engine, &err));
	CHECK_OK(engine_wait(engine, false, &readable, &err));
	assert_false(readable);
	assert_int_equal(eventfd_write(polled, 1), 0);
	CHECK_OK(engine_wait(engine, true, &readable, &err));
	assert_true(readable);
	engine->polling = false;
	assert_int_equal(eventfd_write(wake, 1), 0);
	CHECK_OK(engine_wait(engine, true, &readable, &err));
	assert_false(readable);
	assert_int_equal(woken, 1);
	engine_read(engine, &read);
	while (!ended)
		CHECK_OK(engine_wait(engine, true, &readable, &err));
	assert_false(readable);
	engine->polling = true;
	CHECK_OK(engine_wait(engine, true, &readable, &err));
	assert_true(readable);
	engine_read(engine, &wrong);
	assert_int_equal(ended, 2);
	engine_free(engine);
	close(polled);
	close(wake);
}

static void test_without_descriptors(void **state)
{
	const struct engine_setup setup = { .poll_fd = -1, .wake = -1, .volume_fds = members, .member_count = 2,
					    .depth = DEPTH };
	struct io_read reads[2 * DEPTH];
	struct engine *engine;
	bool readable;
	int lowest = dup(0);

	fill();
	close(lowest);
	CHECK_OK(pool_new(&setup, &engine, &err));
	CHECK_OK(engine_wait(engine, true, &readable, &err)); /* which nothing would end */
	for (unsigned i = 0; i < 2 * DEPTH; i++) {
		reads[i] = make_read(1);
		engine_read(engine, &reads[i]);
	}
	while (ended < 2 * DEPTH)
		CHECK_OK(engine_wait(engine, true, &readable, &err));
	assert_int_equal(dup(0), lowest);
	close(lowest);
	engine_free(engine);
}

static void test_a_single_read(void **state)
{
	const struct engine_setup setup = { .poll_fd = -1, .wake = -1, .volume_fds = members, .member_count = 2,
					    .depth = 1 };
	struct io_read read = make_read(1);
	struct engine *engine;

	fill();
	CHECK_OK(pool_new(&setup, &engine, &err));
	engine_read(engine, &read);
	assert_int_equal(ended, 1);
	assert_true(pthread_equal(last, pthread_self()));
	engine_free(engine);
}

CHECK_MAIN(cmocka_unit_test(test_a_member_that_hangs), cmocka_unit_test(test_waits),
	   cmocka_unit_test(test_without_descriptors), cmocka_unit_test(test_a_single_read))
