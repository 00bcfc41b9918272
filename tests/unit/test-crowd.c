/* SPDX-License-Identifier: MIT */
/* Which connection of the exporter has to go when there are too many. */
#include "lib/check.h"

#include <sys/socket.h>
#include <unistd.h>

#include "exporter/crowd.h"

struct many {
	struct crowd crowd;
	struct crowd_place *places[CROWD_MOST];
	int clients[CROWD_MOST];
};

/* One more comes, as the i-th. */
static void enter(struct many *many, unsigned i)
{
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
	many->clients[i] = pair[0];
	many->places[i] = crowd_enter(&many->crowd, pair[1]);
}

static bool is_ended(const struct many *many, unsigned i)
{
	char byte;

	return recv(many->clients[i], &byte, 1, 0) == 0;
}

static unsigned ended(const struct many *many, unsigned count)
{
	unsigned n = 0;

	for (unsigned i = 0; i < count; i++)
		n += is_ended(many, i);
	return n;
}

static void leave(struct many *many, unsigned i)
{
	close(many->places[i]->fd);
	crowd_leave(many->places[i]);
	close(many->clients[i]);
}

/* The first that came goes first, unless it was answered meanwhile. */
static void test_oldest(void **state)
{
	struct many many = { 0 };
	unsigned i;

	(void)state;
	for (i = 0; i < CROWD_KEPT; i++)
		enter(&many, i);
	crowd_wait(many.places[0]);
	crowd_answer(&many.crowd, many.places[0]);
	crowd_rest(&many.crowd, many.places[1]);
	assert_int_equal(ended(&many, CROWD_KEPT), 0);
	enter(&many, i++);
	assert_true(is_ended(&many, 2));
	enter(&many, i++);
	assert_true(is_ended(&many, 3));
	assert_int_equal(ended(&many, i), 2);
	leave(&many, 2);
	enter(&many, 2);
	assert_true(is_ended(&many, 4));
	assert_int_equal(ended(&many, i), 2);
	for (unsigned k = 0; k < i; k++)
		leave(&many, k);
}

/* Who waits for metrics is not ended; of many that got them, those go that have taken them. */
static void test_waiting(void **state)
{
	struct many many = { 0 };

	(void)state;
	for (unsigned i = 0; i < CROWD_MOST; i++) {
		enter(&many, i);
		crowd_wait(many.places[i]);
	}
	assert_int_equal(ended(&many, CROWD_MOST), 0);
	for (unsigned i = 0; i < CROWD_MOST; i++)
		crowd_answer(&many.crowd, many.places[i]);
	assert_int_equal(ended(&many, CROWD_MOST), 0);
	for (unsigned i = 0; i < CROWD_MOST; i++) {
		crowd_rest(&many.crowd, many.places[i]);
		assert_int_equal(is_ended(&many, i), i < CROWD_MOST - CROWD_KEPT);
	}
	for (unsigned i = 0; i < CROWD_MOST; i++)
		leave(&many, i);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_oldest),
		cmocka_unit_test(test_waiting),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
