/* SPDX-License-Identifier: MIT */
/* Payloads lie one behind the other, from a boundary of huge pages on. */
#include <errno.h>
#include <string.h>

#include "base/huge.h"
#include "base/round.h"
#include "fuse/payloads.h"
#include "lib/check.h"

#define SLOTS 5u
#define SIZE  (1u << 20)

/* The last slot's huge page must be the area's as well, or the kernel gives it small pages. */
static void test_slots_lie_in_whole_huge_pages(void **state)
{
	struct payloads payloads;
	struct error err = { 0 };

	assert_int_equal(payloads_reserve(&payloads, SLOTS, SIZE, &err), 0);
	assert_int_equal((uintptr_t)payloads_at(&payloads, 0) % HUGE_PAGE, 0);
	assert_true(payloads.base >= (uint8_t *)payloads.map);
	assert_true(payloads.base + round_up(SLOTS * SIZE, HUGE_PAGE) <= (uint8_t *)payloads.map + payloads.map_size);
	payloads_free(&payloads);
	payloads_free(&payloads);
}

static void test_slots_do_not_overlap(void **state)
{
	struct payloads payloads;
	struct error err = { 0 };

	assert_int_equal(payloads_reserve(&payloads, SLOTS, SIZE, &err), 0);
	for (unsigned slot = 0; slot < SLOTS; slot++)
		memset(payloads_at(&payloads, slot), (int)slot + 1, SIZE);
	for (unsigned slot = 0; slot < SLOTS; slot++) {
		assert_int_equal(payloads_at(&payloads, slot)[0], slot + 1);
		assert_int_equal(payloads_at(&payloads, slot)[SIZE - 1], slot + 1);
	}
	payloads_free(&payloads);
}

static void test_too_much_is_refused(void **state)
{
	struct payloads payloads;
	struct error err = { 0 };

	assert_int_equal(payloads_reserve(&payloads, 1, SIZE_MAX / 4, &err), -ENOMEM);
	assert_non_null(strstr(err.reason, "cannot reserve"));
}

CHECK_MAIN(cmocka_unit_test(test_slots_lie_in_whole_huge_pages), cmocka_unit_test(test_slots_do_not_overlap),
	   cmocka_unit_test(test_too_much_is_refused))
