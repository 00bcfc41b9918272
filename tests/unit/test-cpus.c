/* SPDX-License-Identifier: MIT */
/* Which worker serves which of the kernel's queues: each queue exactly one, each worker at least one. */
#include "lib/check.h"
#include "serve/cpus.h"

static void counts_of_lists(void **state)
{
	(void)state;
	assert_int_equal(cpus_count("0\n"), 1);
	assert_int_equal(cpus_count("0-7\n"), 8);
	assert_int_equal(cpus_count("0,2-5"), 5);
	assert_int_equal(cpus_count("0-3,8-11,16"), 9);
	assert_int_equal(cpus_count(""), 0);
	assert_int_equal(cpus_count("\n"), 0);
	assert_int_equal(cpus_count("7-0"), 0);
	assert_int_equal(cpus_count("0-"), 0);
	assert_int_equal(cpus_count("0-3;5"), 0);
	assert_int_equal(cpus_count("0-99999999"), 0);
	assert_int_equal(cpus_count("0,99999999"), 0);
}

/* own: the CPUs of the workers; queues: how many there are */
static void check(uint16_t *own, unsigned workers, unsigned queues)
{
	struct cpus cpus = { .own = own, .workers = workers, .possible = queues };
	unsigned served[64] = { 0 };

	for (unsigned worker = 0; worker < workers; worker++) {
		uint16_t numbers[65];
		unsigned count = cpus_queues(&cpus, worker, numbers);

		assert_true(count >= 1);
		assert_true(count <= (queues + workers - 1) / workers + 1);
		if (own[worker] < queues)
			assert_int_equal(numbers[0], own[worker]);
		for (unsigned i = 0; i < count; i++) {
			assert_true(numbers[i] < queues);
			served[numbers[i]]++;
		}
	}
	for (unsigned queue = 0; queue < queues; queue++)
		assert_int_equal(served[queue], 1);
}

static void queues_are_shared_out(void **state)
{
	(void)state;
	check((uint16_t[]){ 0 }, 1, 1);
	check((uint16_t[]){ 0, 1 }, 2, 2);
	check((uint16_t[]){ 0 }, 1, 2);          /* the other one is offline, or not ours */
	check((uint16_t[]){ 1 }, 1, 2);
	check((uint16_t[]){ 2, 3 }, 2, 64);
	check((uint16_t[]){ 61, 62, 63 }, 3, 64);
}

/* Possible CPUs 0,2-5 are five queues, 0 to 4. */
static void numbers_of_cpus_have_gaps(void **state)
{
	(void)state;
	check((uint16_t[]){ 0, 2, 3, 4, 5 }, 5, 5);
	check((uint16_t[]){ 0, 2, 5 }, 3, 5);
	check((uint16_t[]){ 5 }, 1, 5);
	check((uint16_t[]){ 0, 8, 16, 24 }, 4, 4);
	check((uint16_t[]){ 24, 16, 8, 0 }, 4, 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_of_lists),
		cmocka_unit_test(queues_are_shared_out),
		cmocka_unit_test(numbers_of_cpus_have_gaps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
