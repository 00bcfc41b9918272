/* SPDX-License-Identifier: MIT */
/* The messages between a daemon and its clients, and the state that they share. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/program/passing.h"
#include "client/client.h"
#include "client/state.h"
#include "lib/check.h"

static void heads(void **state)
{
	struct client_open query;
	struct client_answer answer = { .code = 0 };
	const struct error why = { -EPERM, "not for you" };

	client_begin(&query.head, CLIENT_OPEN, sizeof(query));
	CHECK_OK(client_check(&query, sizeof(query), CLIENT_OPEN, sizeof(query), &err));
	CHECK_FAILS(client_check(&query, 3, CLIENT_OPEN, sizeof(query), &err), -EPROTO, "a message of 3 bytes");
	CHECK_FAILS(client_check(&query, sizeof(query) - 1, CLIENT_OPEN, sizeof(query), &err), -EPROTO, "says it has");
	CHECK_FAILS(client_check(&query, sizeof(query), CLIENT_REPORT, 1, &err), -EPROTO, "of kind 2, expected 4");
	query.head.earliest = query.head.protocol = CLIENT_PROTOCOL + 1;
	CHECK_FAILS(client_check(&query, sizeof(query), CLIENT_OPEN, sizeof(query), &err), -EPROTONOSUPPORT,
		    "speaks protocols 3 to 3, this release speaks 2");
	query.head.earliest = query.head.protocol = 1;
	CHECK_FAILS(client_check(&query, sizeof(query), CLIENT_OPEN, sizeof(query), &err), -EPROTONOSUPPORT,
		    "speaks protocols 1 to 1, this release speaks 2");
	query.head.protocol = CLIENT_PROTOCOL + 1; /* a later release that speaks ours as well */
	CHECK_OK(client_check(&query, sizeof(query), CLIENT_OPEN, sizeof(query), &err));
	query.head.magic++;
	CHECK_FAILS(client_check(&query, sizeof(query), CLIENT_OPEN, sizeof(query), &err), -EPROTO, "begins with");
	client_begin(&answer.head, CLIENT_OPENED, sizeof(answer));
	CHECK_FAILS(client_check_answer(&answer, sizeof(answer), CLIENT_OPENED, sizeof(struct client_opened), &err),
		    -EPROTO, "expected at least");
	client_refuse(&answer, &why);
	CHECK_FAILS(client_check_answer(&answer, sizeof(answer), CLIENT_OPENED, sizeof(struct client_opened), &err),
		    -EPERM, "not for you");
	answer.reason[3] = '\n';
	CHECK_FAILS(client_check_answer(&answer, sizeof(answer), CLIENT_OPENED, sizeof(struct client_opened), &err),
		    -EPERM, "not?for you");
	answer.code = 5;
	CHECK_FAILS(client_check_answer(&answer, sizeof(answer), CLIENT_OPENED, sizeof(answer), &err), -EPROTO,
		    "code 5, which is no errno");
}

static void packets(void **state)
{
	struct passing_packet packet;
	int pair[2], null = open("/dev/null", O_RDONLY | O_CLOEXEC), four[4] = { null, null, null, null };

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	CHECK_FAILS(passing_receive(pair[1], 1, 0, &packet, &err), -EAGAIN, "no answer within 1 ms");
	CHECK_OK(passing_send(pair[0], "hello", 5, four, 3, &err));
	CHECK_OK(passing_receive(pair[1], 1000, 3, &packet, &err));
	assert_int_equal(packet.length, 5);
	assert_int_equal(packet.fd_count, 3);
	assert_true(fcntl(packet.fds[2], F_GETFD) & FD_CLOEXEC);
	passing_close(&packet);
	CHECK_OK(passing_send(pair[0], "hello", 5, four, 2, &err)); /* more than is wanted */
	CHECK_FAILS(passing_receive(pair[1], 1000, 0, &packet, &err), -EPROTO, "more than 0 descriptors");
	CHECK_OK(passing_send(pair[0], "hello", 5, four, 3, &err));
	CHECK_FAILS(passing_receive(pair[1], 1000, 1, &packet, &err), -EPROTO, "more than 1 descriptors");
	assert_int_equal(packet.fd_count, 0);
	close(pair[0]);
	CHECK_FAILS(passing_receive(pair[1], 1000, 0, &packet, &err), -ECONNRESET, "the other side has ended");
	assert_int_equal(passing_send(pair[1], "hello", 5, NULL, 0, NULL), -EPIPE); /* and no signal */
	close(pair[1]);
	close(null);
}

static void *live(void *argument)
{
	state_live(argument);
	return NULL;
}

static const struct state_terms terms = { .is_adaptive = true, .iops = 500, .bandwidth = 1 << 20 };

static void state_tells(void **unused)
{
	static struct state *state; /* for good: this thread's list of futexes is in it */
	const struct state_view *view;
	struct state_terms told;
	pthread_t thread;
	uint64_t volume;

	CHECK_OK(state_new(&terms, &state, &err));
	CHECK_OK(state_view_open(state_fd(state), &view, &err));
	state_publish(state, 5);
	assert_int_equal(state_view_key(view), 0); /* nobody lives yet */
	pthread_create(&thread, NULL, live, state);
	pthread_join(thread, NULL);
	assert_int_equal(state_view_key(view), 0); /* and not any more */
	state_live(state);
	assert_int_equal(state_view_key(view), 5);
	volume = state_view_volume(view);
	state_renew(state);
	assert_int_not_equal(state_view_volume(view), volume);
	assert_int_equal(state_view_volume(view), state_volume(state));
	state_view_terms(view, &told);
	assert_true(told.is_adaptive);
	assert_int_equal(told.iops, 500);
	assert_int_equal(told.bandwidth, 1 << 20);
	assert_int_equal(state_view_sharers(view), 1);
	state_divide(state, 3);
	assert_int_equal(state_view_sharers(view), 3);
	assert_true(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, state_fd(state), 0) == MAP_FAILED);
	state_publish(state, 0);
	assert_int_equal(state_view_key(view), 0);
	state_view_close(view);
}

static void state_after_sigkill(void **unused)
{
	const struct state_view *view;
	struct state *state;
	int pair[2], status;
	char byte = 0;
	pid_t child;

	CHECK_OK(state_new(&terms, &state, &err));
	CHECK_OK(state_view_open(state_fd(state), &view, &err));
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	child = fork();
	if (child == 0) {
		state_live(state);
		state_publish(state, 9);
		(void)!write(pair[1], "", 1);
		for (;;)
			pause();
	}
	assert_int_equal(read(pair[0], &byte, 1), 1);
	assert_int_equal(state_view_key(view), 9);
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(state_view_key(view), 0);
	state_view_close(view);
	state_free(state);
	close(pair[0]);
	close(pair[1]);
}

static _Atomic bool has_looked, looks_on;

/* Sees one daemon's page or the other's, and always one. */
static void *look(void *argument)
{
	while (atomic_load(&looks_on)) {
		uint64_t key = state_view_key(argument);

		assert_true(key == 0 || key == 9);
		atomic_store(&has_looked, true);
	}
	return NULL;
}

static void state_of_the_next_daemon(void **unused)
{
	static struct state *next; /* as in state_tells() */
	const struct state_view *view;
	struct state *former;
	pthread_t thread;

	CHECK_OK(state_new(&terms, &former, &err));
	CHECK_OK(state_new(&terms, &next, &err));
	CHECK_OK(state_view_open(state_fd(former), &view, &err));
	/* Its thread has ended. A look between two replacements may see the life of one page and the other's key. */
	state_publish(former, 9);
	state_live(next);
	state_publish(next, 9);
	assert_int_equal(state_view_key(view), 0);
	CHECK_FAILS(state_view_replace(view, -1, &err), -EPROTO, "has the seals 0");
	atomic_store(&looks_on, true);
	pthread_create(&thread, NULL, look, (void *)(uintptr_t)view);
	while (!atomic_load(&has_looked))
		sched_yield();
	for (unsigned i = 0; i < 500; i++) {
		CHECK_OK(state_view_replace(view, state_fd(i % 2 ? former : next), &err));
		assert_int_equal(state_view_key(view), i % 2 ? 0 : 9);
	}
	atomic_store(&looks_on, false);
	pthread_join(thread, NULL);
	state_free(former);
	CHECK_OK(state_view_replace(view, state_fd(next), &err));
	state_renew(next);
	assert_int_equal(state_view_volume(view), state_volume(next));
	state_publish(next, 0);
	assert_int_equal(state_view_key(view), 0);
	state_view_close(view);
}

static void refused_states(void **state)
{
	int fd = memfd_create("state", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	const struct state_view *view;

	CHECK_FAILS(state_view_open(fd, &view, &err), -EPROTO, "has the seals 0");
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL), 0);
	CHECK_FAILS(state_view_open(fd, &view, &err), -EPROTO, "has 0 bytes, expected 4096");
	close(fd);
}

CHECK_MAIN(cmocka_unit_test(heads), cmocka_unit_test(packets), cmocka_unit_test(state_after_sigkill),
	   cmocka_unit_test(state_of_the_next_daemon), cmocka_unit_test(refused_states), cmocka_unit_test(state_tells))
