/* SPDX-License-Identifier: MIT */
/* The life of a thread as another process sees it: killed, ended by itself, and given up. */
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/thread/life.h"
#include "lib/check.h"

static struct life *life;
static struct life_holder holder;

static int set_up(void **state)
{
	life = mmap(NULL, sizeof(*life), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return life == MAP_FAILED;
}

static int tear_down(void **state)
{
	return munmap(life, sizeof(*life));
}

static void killed(void **state)
{
	pid_t child;

	assert_false(life_goes_on(life));
	assert_false(life_is_over(life));
	child = fork();
	if (child == 0) {
		life_begin(life, &holder);
		for (;;)
			pause();
	}
	while (!life_goes_on(life))
		usleep(100);
	assert_false(life_is_over(life));
	assert_int_equal(kill(child, SIGKILL), 0);
	life_wait(life); /* the process may not have been waited for */
	assert_true(life_is_over(life));
	assert_false(life_goes_on(life));
	assert_int_equal(waitpid(child, NULL, 0), child);
}

/* Waits, and tells through a byte that it did. */
static void *wait_for_it(void *argument)
{
	life_wait(life);
	return write(*(const int *)argument, "", 1) == 1 ? NULL : argument;
}

static void *live(void *argument)
{
	char byte;

	life_begin(life, &holder);
	return read(*(const int *)argument, &byte, 1) == 1 ? NULL : argument;
}

/* The waiter is there before the thread. */
static void thread_ends(void **state)
{
	pthread_t waiter, thread;
	int told[2], hold[2];
	char byte;

	assert_int_equal(pipe(told), 0);
	assert_int_equal(pipe(hold), 0);
	assert_int_equal(pthread_create(&waiter, NULL, wait_for_it, &told[1]), 0);
	assert_int_equal(pthread_create(&thread, NULL, live, &hold[0]), 0);
	while (!life_goes_on(life))
		usleep(100);
	assert_int_equal(write(hold[1], "", 1), 1);
	assert_int_equal(read(told[0], &byte, 1), 1);
	assert_true(life_is_over(life));
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(pthread_join(waiter, NULL), 0);
	for (int i = 0; i < 2; i++) {
		close(told[i]);
		close(hold[i]);
	}
}

static void given_up(void **state)
{
	pthread_t waiter;
	int told[2];
	char byte;

	assert_int_equal(pipe(told), 0);
	assert_int_equal(pthread_create(&waiter, NULL, wait_for_it, &told[1]), 0);
	life_end(life);
	assert_int_equal(read(told[0], &byte, 1), 1);
	assert_int_equal(pthread_join(waiter, NULL), 0);
	assert_true(life_is_over(life));
	close(told[0]);
	close(told[1]);
}

CHECK_MAIN(cmocka_unit_test_setup_teardown(killed, set_up, tear_down),
	   cmocka_unit_test_setup_teardown(thread_ends, set_up, tear_down),
	   cmocka_unit_test_setup_teardown(given_up, set_up, tear_down))
