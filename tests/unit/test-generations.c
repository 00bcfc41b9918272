/* SPDX-License-Identifier: MIT */
/* A version that is held stays open, and nobody gets it any more once it is about to be closed. */
#include "lib/check.h"
#include "serve/version/generations.h"

static struct generations generations = { .lock = PTHREAD_MUTEX_INITIALIZER };
static struct generation one;

static int setup(void **state)
{
	(void)state;
	one = (struct generation){ .sequence = 7, .uses = 2 }; /* ours as well: it is not freed */
	atomic_store(&generations.slots[7], &one);
	atomic_store(&generations.current, &one);
	return 0;
}

static void what_is_held_stays(void **state)
{
	(void)state;
	assert_true(generations_hold(&one)); /* nobody knows it yet */
	assert_false(generations_remove(&generations, &one));
	assert_ptr_equal(generations_find(&generations, 7), &one);
	generations_forget(&generations, &one, 1);
	assert_true(generations_remove(&generations, &one));
	assert_null(generations_find(&generations, 7));
}

/* As a thread finds it that looked up what is current just before a switch. */
static void what_is_taken_out_is_not_held(void **state)
{
	(void)state;
	assert_true(generations_remove(&generations, &one));
	assert_false(generations_hold(&one));
	assert_false(generations_hold(&one));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(what_is_held_stays, setup),
		cmocka_unit_test_setup(what_is_taken_out_is_not_held, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
