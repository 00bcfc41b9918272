/* SPDX-License-Identifier: MIT */
/* A version that is held stays open, and nobody gets it any more once it is about to be closed. */
#include "lib/check.h"
#include "serve/version/generations.h"

static struct generations generations = { .lock = PTHREAD_MUTEX_INITIALIZER };
static struct generation one;

static int setup(void **state)
{
	memset(generations.adopted, 0, sizeof(generations.adopted));
	one = (struct generation){ .sequence = 7, .uses = 2 }; /* ours as well: it is not freed */
	atomic_store(&generations.slots[7], &one);
	atomic_store(&generations.current, &one);
	return 0;
}

static void what_is_held_stays(void **state)
{
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
	assert_true(generations_remove(&generations, &one));
	assert_false(generations_hold(&one));
	assert_false(generations_hold(&one));
}

static void what_is_pinned_stays(void **state)
{
	assert_true(generations_pin(&one));
	assert_int_equal(generation_lookups(&one), 1);
	assert_false(generations_remove(&generations, &one));
	generations_unpin(&generations, &one, true); /* the kernel has the name now */
	assert_false(generations_remove(&generations, &one));
	assert_true(generations_pin(&one));
	generations_forget(&generations, &one, 1);
	generations_unpin(&generations, &one, false);
	assert_true(generations_remove(&generations, &one));
	assert_false(generations_pin(&one));
	assert_int_equal(one.pins, 0);
}

static void unknown_counts_only_grow(void **state)
{
	atomic_store(&one.lookups, GENERATION_UNKNOWN);
	assert_false(generation_is_forgotten(&one));
	assert_false(generations_remove(&generations, &one)); /* nobody searched */
	assert_true(generations_hold(&one));
	assert_true(generations_hold(&one));
	generations_forget(&generations, &one, 9);
	assert_int_equal(generation_lookups(&one), 2);
	atomic_store(&one.searched, one.lookups);
	assert_true(generation_is_forgotten(&one));
	assert_true(generations_hold(&one)); /* since the search */
	assert_false(generation_is_forgotten(&one));
	assert_false(generations_remove(&generations, &one));
	atomic_store(&one.searched, one.lookups);
	assert_true(generations_remove(&generations, &one));
	generations_forget(&generations, &one, 3); /* by a worker that found it before */
	assert_false(generations_hold(&one));
}

/* As of a name that an earlier process gave out. */
static void more_is_forgotten_than_was_counted(void **state)
{
	assert_true(generations_hold(&one));
	generations_forget(&generations, &one, 2);
	assert_true(generation_is_unknown(&one));
	assert_int_equal(generation_lookups(&one), 1);
	assert_false(generations_remove(&generations, &one));
}

static void adopted_sequences_stay_unknown(void **state)
{
	static struct generation again, other;
	struct generation *added = &one;

	again = (struct generation){ .sequence = 7, .uses = 2 };
	other = (struct generation){ .sequence = 8, .uses = 2 };
	atomic_store(&generations.slots[7], NULL);
	atomic_store(&one.lookups, GENERATION_UNKNOWN);
	CHECK_OK(generations_add(&generations, &added, false, &err));
	atomic_store(&one.searched, one.lookups);
	assert_true(generations_remove(&generations, &one));
	added = &other;
	CHECK_OK(generations_add(&generations, &added, true, &err));
	assert_int_equal(other.lookups, 1);
	assert_int_equal(other.pins, 1);
	added = &again;
	CHECK_OK(generations_add(&generations, &added, true, &err));
	assert_int_equal(again.lookups, GENERATION_UNKNOWN | 1);
}

CHECK_MAIN(cmocka_unit_test_setup(what_is_held_stays, setup),
	   cmocka_unit_test_setup(what_is_taken_out_is_not_held, setup),
	   cmocka_unit_test_setup(what_is_pinned_stays, setup), cmocka_unit_test_setup(unknown_counts_only_grow, setup),
	   cmocka_unit_test_setup(more_is_forgotten_than_was_counted, setup),
	   cmocka_unit_test_setup(adopted_sequences_stay_unknown, setup))
