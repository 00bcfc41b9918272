/* SPDX-License-Identifier: MIT */
/* Records that are needed in another order than they lie in. */
#include <errno.h>
#include <string.h>

#include "lib/check.h"
#include "spill/reorder.h"

#define COUNT  600000u /* announced and records take more than the sorts have in memory */
#define STRIDE 123457u /* has no factor in common with COUNT */

struct fixture {
	uint64_t stride;
	uint64_t last, got;
	uint8_t record[64]; /* the number of the record, as often as it has room */
};

/* Records are asked for from the first to the last, none twice. */
static int fixture_get(void *argument, uint64_t from, uint64_t to, const void **ret, size_t *ret_length,
		       struct error *error)
{
	struct fixture *fixture = argument;

	if (from >= COUNT)
		return error_set(error, -ERANGE, "there is no record");
	assert_true(!fixture->got || from > fixture->last);
	assert_int_equal(from, to * fixture->stride % COUNT);
	fixture->last = from;
	fixture->got++;
	for (size_t i = 0; i < sizeof(fixture->record); i += sizeof(from))
		memcpy(fixture->record + i, &from, sizeof(from));
	*ret = fixture->record;
	*ret_length = 8 + from % 8 * 8;
	return 0;
}

static void check_order(uint64_t stride, uint64_t fetched)
{
	struct fixture fixture = { .stride = stride };
	struct reorder reorder = { 0 };
	struct temp *temp = NULL;
	struct error why = { 0 };
	const void *bytes;
	size_t length;
	uint64_t to, from;

	CHECK_OK(temp_open("/tmp", &temp, &err));
	CHECK_OK(reorder_open(&reorder, temp, &err));
	for (to = 0; to < COUNT; to++)
		CHECK_OK(reorder_ask(&reorder, to * stride % COUNT, to, &err));
	CHECK_OK(reorder_fetch(&reorder, fixture_get, &fixture, &err));
	assert_int_equal(fixture.got, fetched);
	for (uint64_t at = 0; at < COUNT; at++) {
		assert_int_equal(reorder_next(&reorder, &to, &bytes, &length, &why), 1);
		assert_int_equal(to, at);
		memcpy(&from, bytes, sizeof(from));
		assert_int_equal(from, at * stride % COUNT);
		assert_int_equal(length, 8 + from % 8 * 8);
	}
	assert_int_equal(reorder_next(&reorder, &to, &bytes, &length, &why), 0);
	assert_int_equal(fixture.got, COUNT);
	reorder_close(&reorder);
	temp_close(temp);
}

static void test_other_order(void **state)
{
	check_order(STRIDE, COUNT);
}

/* Nothing is sorted, so nothing is fetched in advance. */
static void test_same_order(void **state)
{
	check_order(1, 0);
}

static void test_failing_record(void **state)
{
	struct reorder reorder = { 0 };
	struct temp *temp = NULL;
	struct fixture fixture = { .stride = COUNT };

	CHECK_OK(temp_open("/tmp", &temp, &err));
	CHECK_OK(reorder_open(&reorder, temp, &err));
	CHECK_OK(reorder_ask(&reorder, 0, 0, &err));
	CHECK_OK(reorder_ask(&reorder, COUNT, 1, &err)); /* far from the other: sorted */
	CHECK_FAILS(reorder_fetch(&reorder, fixture_get, &fixture, &err), -ERANGE, "there is no record");
	reorder_close(&reorder);
	reorder_close(&reorder);
	temp_close(temp);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_other_order),
		cmocka_unit_test(test_same_order),
		cmocka_unit_test(test_failing_record),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
