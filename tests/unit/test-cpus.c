/* SPDX-License-Identifier: MIT */
/* Which worker serves which of the kernel's queues: each queue exactly one, each worker at least one;
 * and how many entries a queue has. */
#include "lib/check.h"
#include "serve/worker/cpus.h"

static void counts_of_lists(void **state)
{
	assert_int_equal(cpus_parse("0\n", NULL), 1);
	assert_int_equal(cpus_parse("0-7\n", NULL), 8);
	assert_int_equal(cpus_parse("0,2-5", NULL), 5);
	assert_int_equal(cpus_parse("0-3,8-11,16", NULL), 9);
	assert_int_equal(cpus_parse("", NULL), 0);
	assert_int_equal(cpus_parse("\n", NULL), 0);
	assert_int_equal(cpus_parse("7-0", NULL), 0);
	assert_int_equal(cpus_parse("0-", NULL), 0);
	assert_int_equal(cpus_parse("0-3;5", NULL), 0);
	assert_int_equal(cpus_parse("0-99999999", NULL), 0);
	assert_int_equal(cpus_parse("0,99999999", NULL), 0);
}

static void lists_as_sets(void **state)
{
	bool set[CPUS_MAX] = { false };

	assert_int_equal(cpus_parse("0-1,4\n", set), 3);
	for (unsigned cpu = 0; cpu < CPUS_MAX; cpu++)
		assert_int_equal(set[cpu], cpu == 0 || cpu == 1 || cpu == 4);
}

static void expect_depths(const char *online, unsigned possible, unsigned depth, uint64_t entries)
{
	bool set[CPUS_MAX] = { false };
	struct cpus cpus = { .possible = possible, .online = set };

	assert_true(cpus_parse(online, set) > 0);
	cpus_share(&cpus, 320);
	for (unsigned queue = 0; queue < possible; queue++)
		assert_int_equal(cpus_depth(&cpus, queue), set[queue] ? depth : CPUS_DEPTH_MIN);
	assert_int_equal(cpus_entries(&cpus), entries);
	assert_int_equal(cpus_depth_least(&cpus), cpus_parse(online, set) < possible ? CPUS_DEPTH_MIN : depth);
}

static void entries_are_for_cpus_that_are_there(void **state)
{
	expect_depths("0-1", 2, 32, 64);
	expect_depths("0-31", 32, 10, 320);
	expect_depths("0-79", 80, 4, 320);
	expect_depths("0-255", 256, 4, 1024);              /* more than there were to be: a queue needs some */
	expect_depths("0-7", 240, 32, 8 * 32 + 232 * 4);   /* a virtual machine that could get more */
	expect_depths("1,3", 4, 32, 2 * 32 + 2 * 4);
	expect_depths("0,8,16", 4, 32, 32 + 3 * 4);        /* numbers beyond the queues */
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
	check((uint16_t[]){ 0, 2, 3, 4, 5 }, 5, 5);
	check((uint16_t[]){ 0, 2, 5 }, 3, 5);
	check((uint16_t[]){ 5 }, 1, 5);
	check((uint16_t[]){ 0, 8, 16, 24 }, 4, 4);
	check((uint16_t[]){ 24, 16, 8, 0 }, 4, 4);
}

CHECK_MAIN(cmocka_unit_test(counts_of_lists), cmocka_unit_test(lists_as_sets),
	   cmocka_unit_test(entries_are_for_cpus_that_are_there), cmocka_unit_test(queues_are_shared_out),
	   cmocka_unit_test(numbers_of_cpus_have_gaps))
