/* SPDX-License-Identifier: MIT */
/* Reads that a cache may answer, by a clock of its own: it has all of them, unless it is slow, fails or hangs. */
#include <errno.h>

#include "lib/check.h"
#include "read/cache_balance.h"

#define MS INT64_C(1000000)

static struct cache_balance balance;
static int64_t now;

static void begin(void)
{
	CHECK_OK(cache_balance_open(&balance, &err));
	now = 1000 * MS;
}

/* One read, of the place that is chosen. */
static bool read_once(int64_t cache, int64_t volume)
{
	bool takes = cache_balance_takes(&balance, now);
	int64_t took = takes ? cache : volume, begun = now;

	route_begin(balance.route, takes ? BALANCE_CACHE : BALANCE_VOLUME, now);
	now += took;
	route_end(balance.route, takes ? BALANCE_CACHE : BALANCE_VOLUME, begun, now, 4096);
	if (takes)
		cache_balance_learn(&balance, took > cache_balance_limit(&balance, now), begun, now);
	return takes;
}

static unsigned hits_of(unsigned reads, int64_t cache, int64_t volume)
{
	unsigned hits = 0;

	for (unsigned i = 0; i < reads; i++)
		hits += read_once(cache, volume);
	return hits;
}

static void test_it_is_asked_first(void **state)
{
	begin();
	assert_int_equal(hits_of(1000, 3 * MS, MS / 10), 1000); /* slower, but not slow */
	assert_int_equal(hits_of(15, 50 * MS, MS), 15);         /* a few slow reads are nothing */
	assert_int_equal(hits_of(1000, MS, MS), 1000);
	cache_balance_close(&balance);
}

static void test_a_slow_one_is_tried_now_and_then(void **state)
{
	unsigned hits;

	begin();
	(void)hits_of(20000, 50 * MS, MS);
	hits = hits_of(20000, 50 * MS, MS);
	assert_in_range(hits, 2, 4);
	(void)hits_of(40000, MS, MS); /* well again */
	assert_int_equal(hits_of(1000, MS, MS), 1000);
	cache_balance_close(&balance);
}

/* Reads of 16 readers are slow when more than eight are there at a time: so about eight are. */
static void test_few_are_under_way_at_a_time(void **state)
{
	unsigned hits = 0;

	begin();
	for (unsigned round = 0; round < 100; round++) {
		int64_t begun = now;

		hits = 0;
		for (unsigned i = 0; i < 16; i++) {
			bool takes = cache_balance_takes(&balance, now);

			hits += takes;
			route_begin(balance.route, takes ? BALANCE_CACHE : BALANCE_VOLUME, now);
		}
		now += MS;
		for (unsigned i = hits; i < 16; i++)
			route_end(balance.route, BALANCE_VOLUME, begun, now, 4096);
		now += hits > 8 ? 50 * MS : 0;
		for (unsigned i = 0; i < hits; i++) {
			route_end(balance.route, BALANCE_CACHE, begun, now, 4096);
			cache_balance_learn(&balance, now - begun > cache_balance_limit(&balance, now), begun, now);
		}
	}
	assert_in_range(hits, 6, 9);
	cache_balance_close(&balance);
}

/* Nothing was slow when they began, so no peak is noted: the limit comes from those that are still under way. */
static void test_all_under_way_are_slow(void **state)
{
	unsigned hits = 0;
	int64_t begun;

	begin();
	begun = now;
	for (unsigned i = 0; i < 64; i++) {
		assert_true(cache_balance_takes(&balance, now));
		route_begin(balance.route, BALANCE_CACHE, now);
	}
	now += 50 * MS;
	for (unsigned i = 0; i < 64; i++) {
		route_end(balance.route, BALANCE_CACHE, begun, now, 4096);
		cache_balance_learn(&balance, true, begun, now);
	}
	for (unsigned i = 0; i < 64 && cache_balance_takes(&balance, now); i++, hits++)
		route_begin(balance.route, BALANCE_CACHE, now);
	assert_in_range(hits, 30, 40);
	cache_balance_close(&balance);
}

static void test_a_suspect_is_probed(void **state)
{
	begin();
	for (unsigned i = 0; i < ROUTE_FAILURES; i++) {
		route_begin(balance.route, BALANCE_CACHE, now);
		route_end(balance.route, BALANCE_CACHE, now, now, -EIO);
	}
	assert_true(cache_balance_is_suspect(&balance, now));
	assert_true(cache_balance_takes(&balance, now));
	assert_false(cache_balance_takes(&balance, now));
	assert_false(cache_balance_takes(&balance, now + ROUTE_PROBE - 1));
	assert_true(cache_balance_takes(&balance, now + ROUTE_PROBE));
	cache_balance_close(&balance);
}

CHECK_MAIN(cmocka_unit_test(test_it_is_asked_first), cmocka_unit_test(test_a_slow_one_is_tried_now_and_then),
	   cmocka_unit_test(test_few_are_under_way_at_a_time), cmocka_unit_test(test_all_under_way_are_slow),
	   cmocka_unit_test(test_a_suspect_is_probed))
