/* SPDX-License-Identifier: MIT */
/* Payloads lie one behind the other from a boundary of huge pages on, and joining them changes no byte. */
#include <errno.h>
#include <string.h>

#include "base/huge.h"
#include "fuse/payloads.h"
#include "lib/check.h"

#define SLOTS 5u
#define SIZE  (1u << 20)

static void fill(const struct payloads *payloads)
{
	for (unsigned slot = 0; slot < SLOTS; slot++)
		memset(payloads_at(payloads, slot), (int)slot + 1, SIZE);
}

static void check(const struct payloads *payloads)
{
	for (unsigned slot = 0; slot < SLOTS; slot++)
		for (size_t i = 0; i < SIZE; i++)
			assert_int_equal(payloads_at(payloads, slot)[i], slot + 1);
}

static void test_joined_payloads_keep_their_data(void **state)
{
	struct payloads payloads;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(payloads_reserve(&payloads, SLOTS, SIZE, &err), 0);
	assert_int_equal((uintptr_t)payloads_at(&payloads, 0) % HUGE_PAGE, 0);
	fill(&payloads);
	for (unsigned slot = SLOTS; slot-- > 0;)
		huge_join(payloads_at(&payloads, slot), SIZE);
	check(&payloads);
	payloads_free(&payloads);
	payloads_free(&payloads);
}

/* The advice for the first and the last slot reaches to the ends of their huge pages: these must be the area's too. */
static void test_joining_stays_within_the_area(void **state)
{
	struct payloads payloads;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(payloads_reserve(&payloads, SLOTS, SIZE, &err), 0);
	assert_true(payloads.base >= (uint8_t *)payloads.map);
	assert_true(payloads.base + (SLOTS * SIZE + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE <= (uint8_t *)payloads.map + payloads.map_size);
	payloads_free(&payloads);
}

static void test_too_much_is_refused(void **state)
{
	struct payloads payloads;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(payloads_reserve(&payloads, 1, SIZE_MAX / 4, &err), -ENOMEM);
	assert_non_null(strstr(err.reason, "cannot reserve"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_joined_payloads_keep_their_data),
		cmocka_unit_test(test_joining_stays_within_the_area),
		cmocka_unit_test(test_too_much_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
