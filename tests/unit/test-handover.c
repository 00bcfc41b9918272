/* SPDX-License-Identifier: MIT */
/* The messages between a daemon and its clients, and the state that they share. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "handover/handover.h"
#include "handover/passing.h"
#include "handover/state.h"
#include "lib/check.h"

static struct extent block_sums_at = { DSFS_DATA_AT, 4096 };
static const struct version version = {
	.label = "v1", .sequence = 7, .chunk_log = 17, .chunk_sum = DSFS_SUM_XXH3_64, .index_length = 16384,
	.shape = { .names_length = 8192, .inode_count = 3, .class_count = 1, .entry_count = 2 },
	.file_count = 1, .directory_count = 2, .content_bytes = 99, .stored_bytes = 100,
	.block_sums = { { &block_sums_at, 1 }, 4096 },
};
static const struct index index_of_it = {
	.shape = { .names_length = 8192, .inode_count = 3, .class_count = 1, .entry_count = 2 },
	.member_count = 1, .member_sizes = { 1u << 24 },
};

static void round_trip(void **state)
{
	struct handover_version record;
	struct version back;

	(void)state;
	handover_put_version(&version, &index_of_it, &record);
	CHECK_OK(handover_get_version(&record, &back, &err));
	assert_int_equal(back.block_sums.extents.count, 1);
	assert_memory_equal(back.block_sums.extents.items, &block_sums_at, sizeof(block_sums_at));
	version_free(&back);
	back.block_sums.extents = version.block_sums.extents;
	assert_memory_equal(&back, &version, sizeof(back));
}

static void refused_records(void **state)
{
	struct handover_version good, record;
	struct version back;

	(void)state;
	handover_put_version(&version, &index_of_it, &good);
	record = good;
	memset(record.label, 'x', sizeof(record.label));
	CHECK_FAILS(handover_get_version(&record, &back, &err), -EPROTO, "has no NUL");
	record = good;
	memcpy(record.label, "a\nb", 4);
	CHECK_FAILS(handover_get_version(&record, &back, &err), -EPROTO, "none that a version can have");
	record = good;
	record.feature_incompat = UINT64_C(1) << 63;
	CHECK_FAILS(handover_get_version(&record, &back, &err), -EOPNOTSUPP, "a newer release is needed");
	record = good;
	record.chunk_sum = 9;
	CHECK_FAILS(handover_get_version(&record, &back, &err), -EOPNOTSUPP, "chunk sums of kind 9");
	record = good;
	record.chunk_log = 40;
	CHECK_FAILS(handover_get_version(&record, &back, &err), -EPROTO, "chunks of 2^40 bytes");
	record = good;
	record.index_length -= 4096;
	CHECK_FAILS(handover_get_version(&record, &back, &err), -EPROTO, "its parts have 16384 bytes");
	record = good;
	record.names_length = UINT64_MAX - 4095;
	CHECK_FAILS(handover_get_version(&record, &back, &err), -EPROTO, "impossible sizes");
	record = good;
	record.inode_count = 0;
	CHECK_FAILS(handover_get_version(&record, &back, &err), -EPROTO, "with 0 inodes");
	record = good;
	record.member_count = 2;
	record.block_sums_length = 4096;
	CHECK_FAILS(handover_get_version(&record, &back, &err), -EPROTO, "outside of the volume");
	record = good;
	record.block_sums_length = UINT64_MAX;
	CHECK_FAILS(handover_get_version(&record, &back, &err), -EPROTO, "outside of the volume");
}

static void heads(void **state)
{
	struct handover_open wish;
	struct handover_answer answer = { .code = 0 };
	const struct error why = { -EPERM, "not for you" };

	(void)state;
	handover_begin(&wish.head, HANDOVER_OPEN, sizeof(wish));
	CHECK_OK(handover_check(&wish, sizeof(wish), HANDOVER_OPEN, sizeof(wish), &err));
	CHECK_FAILS(handover_check(&wish, 3, HANDOVER_OPEN, sizeof(wish), &err), -EPROTO, "a message of 3 bytes");
	CHECK_FAILS(handover_check(&wish, sizeof(wish) - 1, HANDOVER_OPEN, sizeof(wish), &err), -EPROTO, "says it has");
	CHECK_FAILS(handover_check(&wish, sizeof(wish), HANDOVER_REPORT, 1, &err), -EPROTO, "of kind 2, expected 4");
	wish.head.earliest = wish.head.protocol = HANDOVER_PROTOCOL + 1;
	CHECK_FAILS(handover_check(&wish, sizeof(wish), HANDOVER_OPEN, sizeof(wish), &err), -EPROTONOSUPPORT,
		    "speaks protocols 2 to 2, this release speaks 1");
	wish.head.earliest = 1; /* a later release that speaks ours as well */
	CHECK_OK(handover_check(&wish, sizeof(wish), HANDOVER_OPEN, sizeof(wish), &err));
	wish.head.magic++;
	CHECK_FAILS(handover_check(&wish, sizeof(wish), HANDOVER_OPEN, sizeof(wish), &err), -EPROTO, "begins with");
	handover_begin(&answer.head, HANDOVER_OPENED, sizeof(answer));
	CHECK_FAILS(handover_check_answer(&answer, sizeof(answer), HANDOVER_OPENED, sizeof(struct handover_opened),
					  &err), -EPROTO, "expected at least");
	handover_refuse(&answer, &why);
	CHECK_FAILS(handover_check_answer(&answer, sizeof(answer), HANDOVER_OPENED, sizeof(struct handover_opened),
					  &err), -EPERM, "not for you");
	answer.reason[3] = '\n';
	CHECK_FAILS(handover_check_answer(&answer, sizeof(answer), HANDOVER_OPENED, sizeof(struct handover_opened),
					  &err), -EPERM, "not?for you");
	answer.code = 5;
	CHECK_FAILS(handover_check_answer(&answer, sizeof(answer), HANDOVER_OPENED, sizeof(answer), &err), -EPROTO,
		    "code 5, which is no errno");
}

static void packets(void **state)
{
	struct passing_packet packet;
	int pair[2], null = open("/dev/null", O_RDONLY | O_CLOEXEC), four[4] = { null, null, null, null };

	(void)state;
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

static void state_tells(void **unused)
{
	static struct state *state; /* for good: this thread's list of futexes is in it */
	const struct state_view *view;
	pthread_t thread;
	uint64_t volume;

	(void)unused;
	CHECK_OK(state_new(&state, &err));
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

	(void)unused;
	CHECK_OK(state_new(&state, &err));
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

static void refused_states(void **state)
{
	int fd = memfd_create("state", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	const struct state_view *view;

	(void)state;
	CHECK_FAILS(state_view_open(fd, &view, &err), -EPROTO, "has the seals 0");
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL), 0);
	CHECK_FAILS(state_view_open(fd, &view, &err), -EPROTO, "has 0 bytes, expected 4096");
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(round_trip),
		cmocka_unit_test(refused_records),
		cmocka_unit_test(heads),
		cmocka_unit_test(packets),
		cmocka_unit_test(state_after_sigkill),
		cmocka_unit_test(refused_states),
		cmocka_unit_test(state_tells),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
