/* SPDX-License-Identifier: MIT */
/* Which connection of the exporter has to go when there are too many. */
#include "lib/check.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "exporter/connections.h"

struct many {
	struct connections connections;
	struct connection *places[CONNECTIONS_MOST];
	int clients[CONNECTIONS_MOST];
};

/* One more comes, as the i-th, of this user. */
static void enter_of(struct many *many, unsigned i, uint32_t uid)
{
	struct peer peer = { .uid = uid };
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
	many->clients[i] = pair[0];
	many->places[i] = connections_add(&many->connections, pair[1], &peer);
	if (!many->places[i])
		close(pair[1]);
}

static void enter(struct many *many, unsigned i)
{
	enter_of(many, i, 0);
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
	close(many->clients[i]);
	if (!many->places[i])
		return;
	close(many->places[i]->fd);
	connections_remove(many->places[i]);
}

/* The first that came goes first, unless it was answered meanwhile. */
static void test_oldest(void **state)
{
	struct many many = { 0 };
	unsigned i;

	(void)state;
	for (i = 0; i < CONNECTIONS_KEPT; i++)
		enter(&many, i);
	connections_wait(many.places[0]);
	connections_answer(&many.connections, many.places[0]);
	connections_rest(&many.connections, many.places[1]);
	assert_int_equal(ended(&many, CONNECTIONS_KEPT), 0);
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

/* A connection that waits for metrics is not ended; of many that were answered, those end that took the answer. */
static void test_waiting(void **state)
{
	struct many many = { 0 };

	(void)state;
	for (unsigned i = 0; i < CONNECTIONS_MOST; i++) {
		enter_of(&many, i, 1000 + i);
		connections_wait(many.places[i]);
	}
	assert_int_equal(ended(&many, CONNECTIONS_MOST), 0);
	for (unsigned i = 0; i < CONNECTIONS_MOST; i++)
		connections_answer(&many.connections, many.places[i]);
	assert_int_equal(ended(&many, CONNECTIONS_MOST), 0);
	for (unsigned i = 0; i < CONNECTIONS_MOST; i++) {
		connections_rest(&many.connections, many.places[i]);
		assert_int_equal(is_ended(&many, i), i < CONNECTIONS_MOST - CONNECTIONS_KEPT);
	}
	for (unsigned i = 0; i < CONNECTIONS_MOST; i++)
		leave(&many, i);
}

/* A connection whose client is gone ends before all others, unless something is left to read. */
static void test_gone(void **state)
{
	struct many many = { 0 };

	(void)state;
	for (unsigned i = 0; i < CONNECTIONS_KEPT; i++)
		enter(&many, i);
	assert_int_equal(write(many.clients[6], "x", 1), 1);
	shutdown(many.clients[6], SHUT_WR);
	close(many.clients[7]);
	enter(&many, CONNECTIONS_KEPT);
	many.clients[7] = dup(many.clients[6]);
	assert_true(many.places[7]->is_ended);
	assert_int_equal(ended(&many, 6), 0);
	assert_false(many.places[6]->is_ended);
	enter(&many, CONNECTIONS_KEPT + 1);
	assert_true(is_ended(&many, 0));
	for (unsigned i = 0; i < CONNECTIONS_KEPT + 2; i++)
		leave(&many, i);
}

/* The user with the most connections loses one, however young they are. */
static void test_shares(void **state)
{
	struct many many = { 0 };

	(void)state;
	for (unsigned i = 0; i < CONNECTIONS_KEPT; i++)
		enter_of(&many, i, i < 4 ? 1 : 1000 + i % 4);
	for (unsigned i = CONNECTIONS_KEPT; i < CONNECTIONS_MOST; i++) {
		enter_of(&many, i, 1000 + i % 4);
		assert_true(is_ended(&many, i - CONNECTIONS_KEPT + 4));
	}
	assert_int_equal(ended(&many, 4), 0);
	for (unsigned i = 0; i < CONNECTIONS_MOST; i++)
		leave(&many, i);
}

/* When one has all places but one and waits in each of them, the other does not go for another one of his. */
static void test_no_other_goes(void **state)
{
	struct many many = { 0 };

	(void)state;
	enter_of(&many, 0, 1);
	for (unsigned i = 1; i < CONNECTIONS_KEPT; i++) {
		enter_of(&many, i, 1000);
		connections_wait(many.places[i]);
	}
	enter_of(&many, CONNECTIONS_KEPT, 1000);
	assert_null(many.places[CONNECTIONS_KEPT]);
	assert_false(is_ended(&many, 0));
	enter_of(&many, CONNECTIONS_KEPT + 2, 1);
	enter_of(&many, CONNECTIONS_KEPT + 3, 2);
	assert_non_null(many.places[CONNECTIONS_KEPT + 3]);
	assert_int_equal(ended(&many, 1), 0);
	connections_answer(&many.connections, many.places[5]);
	enter_of(&many, CONNECTIONS_KEPT + 1, 1000);
	assert_non_null(many.places[CONNECTIONS_KEPT + 1]);
	assert_true(is_ended(&many, 5));
	assert_false(is_ended(&many, 0));
	for (unsigned i = 0; i < CONNECTIONS_KEPT + 4; i++)
		leave(&many, i);
}

/* When all wait, who has his share gets no more, and others do. */
static void test_full_shares(void **state)
{
	struct many many = { 0 };
	unsigned i;

	(void)state;
	for (i = 0; i < CONNECTIONS_KEPT; i++) {
		enter_of(&many, i, 1000 + i % 4);
		connections_wait(many.places[i]);
	}
	enter_of(&many, i, 1000);
	assert_null(many.places[i++]);
	for (unsigned own = 0; own < CONNECTIONS_SHARE; own++) {
		enter_of(&many, i, 1);
		assert_non_null(many.places[i]);
		connections_wait(many.places[i++]);
	}
	enter_of(&many, i, 1);
	assert_null(many.places[i++]);
	assert_true(connections_have_room(&many.connections));
	for (unsigned k = 0; k < i; k++)
		leave(&many, k);
}

/* A connection from this process to itself: the end that connected, and in *ret_fd the one that was accepted. */
static int connect_to_us(int *ret_fd)
{
	int listener = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0);
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(address);

	assert_int_equal(bind(listener, (struct sockaddr *)&address, size), 0);
	assert_int_equal(listen(listener, 1), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &size), 0);
	assert_int_equal(connect(client, (struct sockaddr *)&address, size), 0);
	*ret_fd = accept(listener, NULL, NULL);
	assert_true(*ret_fd >= 0);
	close(listener);
	return client;
}

/* A client that closed the connection, with something left to read, is no user: the kernel would say root. */
static void test_users(void **state)
{
	int diag = peer_open(), fd, client = connect_to_us(&fd);
	struct peer open = peer_of(diag, fd), closed;

	(void)state;
	assert_int_equal(write(client, "x", 1), 1);
	close(client);
	assert_false(peer_is_gone(fd));
	closed = peer_of(diag, fd);
	assert_int_equal(closed.uid, PEER_NOBODY);
	if (open.uid != PEER_NOBODY) /* or the kernel does not tell us */
		assert_int_equal(open.uid, getuid());
	close(fd);
	if (diag >= 0)
		close(diag);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_oldest),
		cmocka_unit_test(test_waiting),
		cmocka_unit_test(test_gone),
		cmocka_unit_test(test_shares),
		cmocka_unit_test(test_no_other_goes),
		cmocka_unit_test(test_full_shares),
		cmocka_unit_test(test_users),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
