/* SPDX-License-Identifier: MIT */
/* Jobs start and come back in order, no more of them than there is room for. */
#include <stdatomic.h>

#include "base/thread/thread.h"
#include "base/thread/work_queue.h"
#include "lib/check.h"

#define JOBS    5000u
#define THREADS 4u
#define DEPTH   6u
#define MOST    3u

static struct work_queue queue;
static uint64_t results[DEPTH];
static atomic_uint given;     /* jobs with the number that they should have */
static atomic_uint under_way; /* jobs started and not given back */
static atomic_uint most_seen; /* of them */

static void look(unsigned now)
{
	unsigned seen = most_seen;

	while (now > seen && !atomic_compare_exchange_weak(&most_seen, &seen, now))
		continue;
}

static void square(void *argument)
{
	uint64_t job;

	while (work_queue_start(&queue, &job)) {
		look(++under_way);
		results[job % DEPTH] = job * job;
		work_queue_done(&queue, job);
	}
}

static void give(void *argument)
{
	uint64_t job;

	while (given < JOBS && work_queue_begin(&queue, &job)) {
		results[job % DEPTH] = 0;
		given += job == given;
		work_queue_submit(&queue);
	}
	work_queue_end(&queue);
}

static void test_in_order(void **state)
{
	const struct thread_setup giver = { .run = give }, worker = { .run = square };
	struct thread threads[1 + THREADS] = { 0 };
	uint64_t job;

	work_queue_open(&queue, DEPTH, MOST);
	CHECK_OK(thread_start(threads, 1, &giver, &err));
	CHECK_OK(thread_start(threads + 1, THREADS, &worker, &err));
	for (uint64_t i = 0; i < JOBS; i++) {
		assert_true(work_queue_take(&queue, &job));
		assert_int_equal(job, i);
		assert_int_equal(results[job % DEPTH], i * i);
		under_way--;
		work_queue_give_back(&queue);
	}
	assert_false(work_queue_take(&queue, &job));
	thread_join_all(threads, 1 + THREADS); /* they have gone home by themselves */
	assert_in_range(most_seen, 1, MOST);
	work_queue_close(&queue);
}

/* A job that is done later than the next one is taken first all the same. */
static void test_out_of_order(void **state)
{
	uint64_t job;

	work_queue_open(&queue, DEPTH, DEPTH);
	for (unsigned i = 0; i < 3; i++) {
		assert_true(work_queue_begin(&queue, &job));
		work_queue_submit(&queue);
		assert_true(work_queue_start(&queue, &job));
	}
	assert_int_equal(work_queue_count(&queue), 3);
	for (uint64_t i = 3; i-- > 0;)
		work_queue_done(&queue, i);
	for (unsigned i = 0; i < 3; i++) {
		assert_true(work_queue_take(&queue, &job));
		assert_int_equal(job, i);
		work_queue_give_back(&queue);
		assert_int_equal(work_queue_count(&queue), 2 - i);
	}
	work_queue_close(&queue);
}

/* A thread that waits for room, for a place or for a job is told that there will be none. */
static void test_stopped(void **state)
{
	const struct thread_setup giver = { .run = give }, worker = { .run = square };
	struct thread threads[1 + THREADS] = { 0 };
	uint64_t job;

	given = under_way = 0;
	work_queue_open(&queue, 2, 1);
	CHECK_OK(thread_start(threads, 1, &giver, &err));
	CHECK_OK(thread_start(threads + 1, THREADS, &worker, &err));
	assert_true(work_queue_take(&queue, &job));
	assert_int_equal(job, 0);
	work_queue_stop(&queue);
	thread_join_all(threads, 1 + THREADS);
	assert_in_range(given, 1, 2);
	assert_int_equal(under_way, 1);
	assert_false(work_queue_begin(&queue, &job));
	assert_false(work_queue_start(&queue, &job));
	assert_int_equal(work_queue_count(&queue), given);
	work_queue_close(&queue);
}

CHECK_MAIN(cmocka_unit_test(test_in_order), cmocka_unit_test(test_out_of_order), cmocka_unit_test(test_stopped))
