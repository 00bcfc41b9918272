/* SPDX-License-Identifier: MIT */
/* Limits for one visitor: the versions that he may hold open, and those that are not loaded for him again. */
#include <errno.h>
#include <stdlib.h>

#include "lib/check.h"
#include "serve/opening/visitor.h"

#define NOW INT64_C(5000000000)

static struct generations generations;
static struct generation open[GENERATIONS_MAX], current;
static struct visitor_failures failures;
static struct visitor one = { .uid = 1, .failures = &failures }, two = { .uid = 2, .failures = &failures },
		      switcher = { .uid = 1, .may_switch = true, .failures = &failures };
static struct version version = { .sequence = 7, .uuid = "version seven" };
static unsigned spare;

static int setup(void **state)
{
	memset(open, 0, sizeof(open));
	memset(&generations, 0, sizeof(generations));
	failures = (struct visitor_failures){ 0 };
	return 0;
}

/* So many more are open for a user's visits. */
static void hold(uint32_t uid, unsigned from, unsigned count)
{
	for (unsigned i = from; i < from + count; i++) {
		open[i] = (struct generation){ .has_visitor = true, .visitor = uid };
		atomic_store(&generations.slots[i], &open[i]);
	}
}

static void places_of_one_user(void **state)
{
	/* A version that was opened for a switch is nobody's, and so is the current one. */
	atomic_store(&generations.slots[255], &current);
	current.has_visitor = true;
	current.visitor = 1;
	atomic_store(&generations.current, &current);
	open[254].visitor = 1;
	atomic_store(&generations.slots[254], &open[254]);
	CHECK_OK(visitor_check(&one, &generations, &version, NOW, &spare, &err));
	assert_int_equal(spare, 8);
	hold(1, 0, VISITOR_OPEN - 1);
	CHECK_OK(visitor_check(&one, &generations, &version, NOW, &spare, &err));
	assert_int_equal(spare, 4);
	hold(1, VISITOR_OPEN - 1, 1);
	CHECK_FAILS(visitor_check(&one, &generations, &version, NOW, &spare, &err), -EDQUOT,
		    "user 1 holds 128 versions open, the limit is 128");
	CHECK_OK(visitor_check(&two, &generations, &version, NOW, &spare, &err));
	assert_int_equal(spare, 8);
	CHECK_OK(visitor_check(&switcher, &generations, &version, NOW, &spare, &err));
	assert_int_equal(spare, 8);
}

static void places_of_all(void **state)
{
	for (unsigned i = 0; i < VISITORS_OPEN; i++)
		hold(100 + i, i, 1);
	CHECK_FAILS(visitor_check(&one, &generations, &version, NOW, &spare, &err), -ENFILE,
		    "visitors hold 192 versions open, the limit is 192");
	CHECK_OK(visitor_check(&switcher, &generations, &version, NOW, &spare, &err));
}

static void failures_are_remembered(void **state)
{
	struct error why = { .code = -EBADMSG, .reason = "damaged" };
	struct version other = version;

	visitor_remember(&one, &version, NOW, &why);
	CHECK_FAILS(visitor_check(&two, &generations, &version, NOW, &spare, &err), -EBADMSG, "damaged");
	CHECK_FAILS(visitor_check(&switcher, &generations, &version, NOW + VISITOR_PERIOD - 1, &spare, &err), -EBADMSG,
		    "damaged");
	CHECK_OK(visitor_check(&two, &generations, &version, NOW + VISITOR_PERIOD, &spare, &err));
	/* Moved by compaction, or published anew. */
	other.sequence++;
	CHECK_OK(visitor_check(&one, &generations, &other, NOW, &spare, &err));
	other = version;
	other.uuid[0]++;
	CHECK_OK(visitor_check(&one, &generations, &other, NOW, &spare, &err));
	/* As many as there is room for. */
	for (unsigned i = 0; i < VISITOR_FAILURES; i++) {
		other.sequence = 100 + i;
		visitor_remember(&one, &other, NOW, &why);
	}
	CHECK_OK(visitor_check(&one, &generations, &version, NOW, &spare, &err));
	other.sequence = 100;
	CHECK_FAILS(visitor_check(&one, &generations, &other, NOW, &spare, &err), -EBADMSG, "damaged");
}

CHECK_MAIN(cmocka_unit_test_setup(places_of_one_user, setup), cmocka_unit_test_setup(places_of_all, setup),
	   cmocka_unit_test_setup(failures_are_remembered, setup))
