/* SPDX-License-Identifier: MIT */
/* The choice of a copy, by a clock of its own: members that are slow, hang, fail, and come back. */
#include <errno.h>
#include <stdlib.h>

#include "lib/check.h"
#include "read/route.h"

#define MS INT64_C(1000000)
#define US INT64_C(1000)

static const uint32_t pair[2] = { 0, 1 };
static struct route *route;
static int64_t now;

static void begin(void)
{
	CHECK_OK(route_new(2, &route, &err));
	now = 1000 * MS;
}

static void end(void)
{
	route_free(route);
}

/* One after the other. */
static void read_from(uint32_t member, int64_t took, bool failed)
{
	int64_t begun = now;

	route_begin(route, member, now);
	now += took;
	route_end(route, member, begun, now, failed ? -EIO : 4096);
}

static void warm_up(void)
{
	for (unsigned i = 0; i < 20; i++) {
		read_from(0, 100 * US, false);
		read_from(1, 100 * US, false);
	}
}

static void test_equal_members_share_the_load(void **state)
{
	uint32_t reads[2] = { 0 }, member;

	begin();
	warm_up();
	for (unsigned i = 0; i < 100; i++) { /* none ends */
		member = pair[route_choose(route, pair, 2, now)];
		route_begin(route, member, now);
		reads[member]++;
	}
	assert_int_equal(reads[0], 50);
	assert_int_equal(reads[1], 50);
	end();
}

/* 16 readers, each with one read at a time; member 1 takes ten times as long for each. */
static void test_a_slow_member_gets_less(void **state)
{
	struct { uint32_t member; int64_t begun, ends; } readers[16] = { 0 };
	int64_t free_at[2] = { 0 }, cost[2] = { 100 * US, 1000 * US };
	uint32_t reads[2] = { 0 };

	begin();
	for (unsigned n = 0; n < 20000; n++) {
		unsigned next = 0;

		for (unsigned i = 1; i < 16; i++)
			if (readers[i].ends < readers[next].ends)
				next = i;
		if (readers[next].ends > now)
			now = readers[next].ends;
		if (readers[next].ends)
			route_end(route, readers[next].member, readers[next].begun, now, 4096);
		readers[next].member = pair[route_choose(route, pair, 2, now)];
		readers[next].begun = now;
		route_begin(route, readers[next].member, now);
		reads[readers[next].member]++;
		free_at[readers[next].member] =
			(free_at[readers[next].member] > now ? free_at[readers[next].member] : now) +
			cost[readers[next].member];
		readers[next].ends = free_at[readers[next].member];
	}
	assert_true(reads[1] > 0 && reads[1] < reads[0] / 5);
	end();
}

static void test_a_member_that_hangs_is_left_alone(void **state)
{
	int64_t hung;

	begin();
	warm_up();
	hung = now;
	for (unsigned i = 0; i < 4; i++)
		route_begin(route, 1, now);
	now += ROUTE_SILENCE + MS;
	assert_true(route_is_suspect(route, 1, now));
	assert_false(route_is_suspect(route, 0, now));
	for (unsigned i = 0; i < 1000; i++) /* however busy the other one is */
		route_begin(route, pair[route_choose(route, pair, 2, now)], now);
	assert_int_equal(atomic_load(&route->members[1].under_way), 4);
	route_end(route, 1, hung, now, 4096);
	assert_false(route_is_suspect(route, 1, now));
	assert_int_equal(pair[route_choose(route, pair, 2, now + MS)], 1);
	end();
}

static void test_a_member_that_fails_is_tried_once_a_while(void **state)
{
	uint32_t tries = 0;

	begin();
	warm_up();
	for (unsigned i = 0; i < ROUTE_FAILURES; i++)
		read_from(1, 50 * US, true);
	assert_true(route_is_suspect(route, 1, now));
	for (unsigned i = 0; i < 5000; i++) {
		uint32_t member = pair[route_choose(route, pair, 2, now)];

		tries += member;
		read_from(member, MS, member);
	}
	assert_in_range(tries, 4, 7); /* in five seconds */
	now += ROUTE_PROBE;
	assert_int_equal(route_choose(route, pair, 2, now), 1);
	read_from(1, 100 * US, false);
	assert_false(route_is_suspect(route, 1, now));
	end();
}

/* Even if the other one is faster, and has nothing else to do. */
static void test_a_slower_member_that_failed_is_used_again(void **state)
{
	begin();
	for (unsigned i = 0; i < 20; i++) {
		read_from(0, 100 * US, false);
		read_from(1, 300 * US, false);
	}
	for (unsigned i = 0; i < ROUTE_FAILURES; i++)
		read_from(1, 50 * US, true);
	for (unsigned i = 0; i < 50000; i++) {
		uint32_t member = pair[route_choose(route, pair, 2, now)];

		read_from(member, member ? 300 * US : 100 * US, false);
	}
	assert_false(route_is_suspect(route, 1, now));
	end();
}

/* So long, and so many reads of the other one, that a high latency of member 1 has faded. */
static void pass(void)
{
	for (unsigned i = 0; i < ROUTE_FADES; i++)
		read_from(0, 100 * US, false);
	now += ROUTE_FADE;
}

/* Few of all reads go there, however few there are: two readers, member 1 takes ten times as long. */
static void test_a_slow_member_is_tried_seldom(void **state)
{
	uint32_t tries = 0;

	begin();
	for (unsigned i = 0; i < 20; i++) {
		read_from(0, 10 * MS, false);
		read_from(1, 10 * MS, false);
	}
	for (unsigned i = 0; i < 10000; i++) {
		uint32_t member;

		route_begin(route, 0, now); /* the other reader */
		member = pair[route_choose(route, pair, 2, now)];
		tries += member;
		read_from(member, member ? 100 * MS : 10 * MS, false);
		route_end(route, 0, now - 10 * MS, now, 4096);
	}
	assert_in_range(tries, 5, 60);
	end();
}

/* One read that hung makes nobody slow for ever. */
static void test_a_member_that_answers_again_is_used(void **state)
{
	begin();
	warm_up();
	read_from(1, 1000 * MS, false);
	pass();
	read_from(1, 100 * US, false);
	assert_in_range(route_latency(route, 1, now), 100 * US, 110 * US);
	pass();
	assert_in_range(route_latency(route, 1, now), 100 * US, 101 * US);
	end();
}

static void test_a_high_latency_fades(void **state)
{
	begin();
	warm_up();
	read_from(1, 50 * MS, false);
	assert_int_equal(route_choose(route, pair, 2, now), 0);
	now += ROUTE_FADE;
	route_begin(route, 0, now);
	assert_int_equal(route_choose(route, pair, 2, now), 0); /* nothing was read meanwhile */
	route_end(route, 0, now, now + 100 * US, 4096);
	pass();
	route_begin(route, 0, now); /* a little load on the other one is enough then */
	assert_int_equal(route_choose(route, pair, 2, now), 1);
	end();
}

CHECK_MAIN(cmocka_unit_test(test_equal_members_share_the_load), cmocka_unit_test(test_a_slow_member_gets_less),
	   cmocka_unit_test(test_a_member_that_hangs_is_left_alone),
	   cmocka_unit_test(test_a_member_that_fails_is_tried_once_a_while),
	   cmocka_unit_test(test_a_slower_member_that_failed_is_used_again),
	   cmocka_unit_test(test_a_slow_member_is_tried_seldom),
	   cmocka_unit_test(test_a_member_that_answers_again_is_used), cmocka_unit_test(test_a_high_latency_fades))
