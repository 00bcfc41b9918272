/* SPDX-License-Identifier: MIT */
/* Lists: a stack gives the newest item first, a queue the oldest. */
#include "base/list.h"
#include "lib/check.h"

struct item {
	int number;
	struct item *below;
};

static struct item items[6];

static void test_a_stack(void **state)
{
	struct item *top = NULL;

	assert_null(list_pop(top, below));
	for (size_t i = 0; i < 3; i++)
		list_push(top, &items[i], below);
	assert_ptr_equal(list_pop(top, below), &items[2]);
	list_push(top, &items[5], below);
	assert_ptr_equal(list_pop(top, below), &items[5]);
	assert_ptr_equal(list_pop(top, below), &items[1]);
	assert_ptr_equal(list_pop(top, below), &items[0]);
	assert_null(list_pop(top, below));
	assert_null(top);
}

static void test_a_queue(void **state)
{
	struct item *first = NULL, **end = &first;

	assert_null(list_take(first, end, below));
	for (size_t round = 0; round < 2; round++) {
		for (size_t i = 0; i < 3; i++)
			list_append(end, &items[i], below);
		for (size_t i = 0; i < 3; i++)
			assert_ptr_equal(list_take(first, end, below), &items[i]);
		assert_null(list_take(first, end, below));
		assert_null(first);
	}
}

CHECK_MAIN(cmocka_unit_test(test_a_stack), cmocka_unit_test(test_a_queue))
