/* SPDX-License-Identifier: MIT */
/* A worker of the kernel's queues is on its CPU while completions come several at a time,
 * and free while they do not. */
#include <sched.h>

#include "lib/check.h"
#include "serve/worker/placement.h"

static int allowed(void)
{
	cpu_set_t set;

	assert_int_equal(sched_getaffinity(0, sizeof(set), &set), 0);
	return CPU_COUNT(&set);
}

static int some_cpu(void)
{
	cpu_set_t set;

	assert_int_equal(sched_getaffinity(0, sizeof(set), &set), 0);
	for (int cpu = CPU_SETSIZE - 1; cpu > 0; cpu--)
		if (CPU_ISSET((unsigned)cpu, &set))
			return cpu;
	return 0;
}

static void feed(struct placement *placement, unsigned completions, unsigned waits)
{
	for (unsigned i = 0; i < waits; i++)
		placement_update(placement, completions);
}

static void test_follows_the_load(void **state)
{
	int all = allowed(), cpu = some_cpu();
	struct placement placement;

	if (all < 2)
		skip();
	CHECK_OK(placement_start(&placement, cpu, &err));
	feed(&placement, 1, 1000);
	assert_int_equal(allowed(), all);
	feed(&placement, 5, 1000);
	assert_int_equal(allowed(), 1);
	assert_int_equal(sched_getcpu(), cpu);
	/* Between the thresholds nothing changes. */
	for (unsigned i = 0; i < 1000; i++)
		feed(&placement, 2 + i % 2, 1);
	assert_int_equal(allowed(), 1);
	feed(&placement, 1, 1000);
	assert_int_equal(allowed(), all);
	for (unsigned i = 0; i < 1000; i++)
		feed(&placement, 2 + i % 2, 1);
	assert_int_equal(allowed(), all);
	placement_end(&placement);
}

static void test_without_a_cpu(void **state)
{
	struct placement placement;
	int all = allowed();

	CHECK_OK(placement_start(&placement, -1, &err));
	feed(&placement, 100, 1000);
	assert_int_equal(allowed(), all);
	placement_end(&placement);
}

CHECK_MAIN(cmocka_unit_test(test_follows_the_load), cmocka_unit_test(test_without_a_cpu))
