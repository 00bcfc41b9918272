/* SPDX-License-Identifier: MIT */
/* Threads: what they start with, who joins them, and what happens when there are none. */
#include <errno.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "base/thread/busy.h"
#include "base/thread/thread.h"
#include "lib/check.h"

#define COUNT    8u
#define STACK    ((size_t)64 << 20) /* more than threads have by default */
#define TOO_MUCH ((size_t)1 << 60) /* bytes of stack that no system has */

static atomic_uint ran;
static atomic_uint with_signals; /* threads that SIGUSR1 may reach */
static sem_t gate, ended;

static void count(void *argument)
{
	sigset_t blocked;

	pthread_sigmask(SIG_SETMASK, NULL, &blocked);
	with_signals += !sigismember(&blocked, SIGUSR1);
	ran++;
}

static void wait_at_gate(void *argument)
{
	count(argument);
	sem_wait(&gate);
	sem_post(&ended);
}

static void measure(void *argument)
{
	pthread_attr_t attributes;

	if (pthread_getattr_np(pthread_self(), &attributes))
		return;
	(void)pthread_attr_getstacksize(&attributes, argument);
	pthread_attr_destroy(&attributes);
}

static void reset(void)
{
	ran = with_signals = 0;
}

static void test_one(void **state)
{
	const struct thread_setup setup = { .run = count };
	struct thread thread = { 0 };

	reset();
	thread_join(&thread); /* it does not run */
	CHECK_OK(thread_start(&thread, 1, &setup, &err));
	assert_true(thread.runs);
	thread_join(&thread);
	assert_false(thread.runs);
	assert_int_equal(ran, 1);
	assert_int_equal(with_signals, 1);
	CHECK_OK(thread_start(&thread, 1, &setup, &err));
	assert_true(thread_join_soon(&thread));
	assert_true(thread_join_soon(&thread));
	assert_int_equal(ran, 2);
}

static void stay(void *argument)
{
	sem_t *go = argument;

	while (sem_wait(go) < 0)
		continue;
}

/* One of two threads ends by the deadline that both have. */
static void test_deadline(void **state)
{
	sem_t go;
	const struct thread_setup ends = { .run = count }, stays = { .run = stay, .argument = &go };
	struct thread threads[2] = { 0 };
	struct timespec deadline = thread_deadline();

	reset();
	sem_init(&go, 0, 0);
	CHECK_OK(thread_start(&threads[0], 1, &ends, &err));
	CHECK_OK(thread_start(&threads[1], 1, &stays, &err));
	assert_true(thread_join_until(&threads[0], &deadline));
	deadline = (struct timespec){ 0 }; /* long past */
	assert_false(thread_join_until(&threads[1], &deadline));
	assert_true(threads[1].runs);
	sem_post(&go);
	thread_join(&threads[1]);
	assert_true(thread_join_until(&threads[1], &deadline)); /* it does not run */
	sem_destroy(&go);
}

static void test_signals(void **state)
{
	const struct thread_setup setup = { .run = count, .without_signals = true };
	struct thread threads[COUNT] = { 0 };

	reset();
	CHECK_OK(thread_start(threads, COUNT, &setup, &err));
	thread_join_all(threads, COUNT);
	assert_int_equal(ran, COUNT);
	assert_int_equal(with_signals, 0);
	count(NULL); /* the caller's are as before */
	assert_int_equal(with_signals, 1);
}

static void test_the_stack(void **state)
{
	size_t size = 0;
	const struct thread_setup setup = { .run = measure, .argument = &size, .stack = STACK };
	struct thread thread = { 0 };

	CHECK_OK(thread_start(&thread, 1, &setup, &err));
	thread_join(&thread);
	assert_in_range(size, STACK - (1 << 20), STACK + (1 << 20));
}

static void test_the_caller_works_as_well(void **state)
{
	const struct thread_setup setup = { .run = count, .without_signals = true };
	struct thread threads[COUNT];

	reset();
	thread_share(threads, 0, &setup);
	assert_int_equal(ran, 1);
	thread_share(threads, COUNT, &setup);
	assert_int_equal(ran, 1 + COUNT);
	assert_int_equal(with_signals, 2); /* each time the caller */
}

static void test_no_thread_is_to_be_had(void **state)
{
	const struct thread_setup unnamed = { .run = count, .stack = TOO_MUCH };
	const struct thread_setup named = { .run = count, .stack = TOO_MUCH, .what = "the watchdog" };
	struct thread threads[COUNT] = { 0 };

	reset();
	CHECK_FAILS(thread_start(threads, 1, &unnamed, &err), -EAGAIN,
		    "cannot start a thread: Resource temporarily unavailable");
	CHECK_FAILS(thread_start(threads, COUNT, &named, &err), -EAGAIN,
		    "cannot start the watchdog: Resource temporarily unavailable");
	thread_join_all(threads, COUNT);
	assert_int_equal(ran, 0);
	thread_share(threads, COUNT, &unnamed);
	assert_int_equal(ran, 1);
}

static void test_nobody_joins(void **state)
{
	const struct thread_setup setup = { .run = wait_at_gate };
	struct thread thread = { 0 };

	reset();
	CHECK_OK(thread_start(&thread, 1, &setup, &err));
	thread_detach(&thread);
	assert_false(thread.runs);
	sem_post(&gate);
	sem_wait(&ended);
	assert_int_equal(ran, 1);
}

static int64_t busy(void)
{
	struct busy look = busy_look();

	return look.ran + look.waited;
}

/* A thread that runs is busy, and one that sleeps is not. */
static void test_busy(void **state)
{
	int64_t begun = clock_now(), before = busy(), after;
	struct timespec nap = { .tv_nsec = 20000000 };

	do
		after = busy();
	while (after < before + 5000000);
	assert_true(after - before <= clock_now() - begun);
	begun = clock_now();
	before = busy();
	nanosleep(&nap, NULL);
	after = busy();
	assert_true(after - before <= clock_now() - begun - nap.tv_nsec / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one), cmocka_unit_test(test_busy), cmocka_unit_test(test_deadline),
		cmocka_unit_test(test_signals), cmocka_unit_test(test_the_stack),
		cmocka_unit_test(test_the_caller_works_as_well), cmocka_unit_test(test_no_thread_is_to_be_had),
		cmocka_unit_test(test_nobody_joins)
	};

	sem_init(&gate, 0, 0);
	sem_init(&ended, 0, 0);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
