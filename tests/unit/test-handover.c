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
#include "handover/handover.h"
#include "handover/state.h"
#include "handover/table.h"
#include "image/members/address.h"
#include "lib/check.h"

static struct extent block_sums_at = { DSFS_DATA_AT, 4096 };
static const struct version version = {
	.label = "v1", .sequence = 7, .chunk_log = 17, .index.length = 16384,
	.shape = { .names_length = 8192, .inode_count = 3, .class_count = 1, .entry_count = 2,
		   .chunk_sum = DSFS_SUM_XXH3_64 },
	.file_count = 1, .directory_count = 2, .content_bytes = 99, .stored_bytes = 100,
	.block_sums = { .extents = { &block_sums_at, 1 }, .length = 4096 },
};
static const struct index index_of_it = {
	.shape = { .names_length = 8192, .inode_count = 3, .class_count = 1, .entry_count = 2,
		   .chunk_sum = DSFS_SUM_XXH3_64 },
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
	assert_memory_equal(&back, &version, offsetof(struct version, chunk_log));
	assert_int_equal(back.chunk_log, version.chunk_log);
	assert_memory_equal(&back.shape, &version.shape, offsetof(struct index_shape, chunk_sum));
	assert_int_equal(back.shape.chunk_sum, version.shape.chunk_sum);
	assert_int_equal(back.shape.places_at, version.shape.places_at);
	assert_int_equal(back.shape.places_count, version.shape.places_count);
	assert_memory_equal(&back.file_count, &version.file_count,
			    offsetof(struct version, index) - offsetof(struct version, file_count));
	assert_int_equal(back.index.length, version.index.length);
	assert_int_equal(back.block_sums.length, version.block_sums.length);
	assert_false(back.signatures || back.signature_bytes);
	version_free(&back);
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

/* A daemon asks for what another one has, whatever size either takes the volume to have. */
static void wishes(void **state)
{
	const uint8_t volume[16] = { 9 };
	struct index grown = index_of_it;
	struct version other = version;
	struct handover_borrow a, b;

	(void)state;
	memset(&a, 0, sizeof(a)), memset(&b, 0, sizeof(b));
	grown.member_sizes[0] *= 2;
	handover_put_wish(&version, &index_of_it, volume, &a);
	handover_put_wish(&version, &grown, volume, &b);
	assert_memory_equal(&a, &b, sizeof(a));
	other.shape.inode_count--, grown.shape.inode_count--;
	handover_put_wish(&other, &grown, volume, &b);
	assert_memory_not_equal(&a.version, &b.version, sizeof(a.version));
	other = version;
	other.index.sha256[31] = 1;
	handover_put_wish(&other, &index_of_it, volume, &b);
	assert_memory_equal(&a.version, &b.version, sizeof(a.version));
	assert_memory_not_equal(a.sha256, b.sha256, sizeof(a.sha256));
}

/* Two members with a group of two copies. */
static struct members make_mirror(void)
{
	const uint64_t columns[2] = { address_make(0, 2 << 20), address_make(1, 3 << 20) };
	const struct member_group group = {
		.birth = 5, .tail = 1 << 20, .kind = DSFS_GROUP_COPIES, .data = 1, .redundant = 1
	};
	struct members members = { .segment_log = 20, .count = 2, .list = calloc(2, sizeof(*members.list)),
				   .history = { { 8, "h8" } }, .history_count = 1 };

	for (uint32_t i = 0; i < 2; i++)
		members.list[i] = (struct member){ .uuid = { (uint8_t)(i + 1) }, .size = 8 << 20 };
	CHECK_OK(members_add_group(&members, &group, columns, &err));
	return members;
}

/* The head of the block checksums of one chunk, which has a row, and where they lie. */
static struct block_sums *make_sums(struct version *ret)
{
	struct dsfs_fine *head = aligned_alloc(DSFS_BLOCK, DSFS_BLOCK);
	struct block_sums *block_sums = NULL;
	struct block_sums_layout layout;

	*ret = (struct version){ .label = "v1", .chunk_log = 17,
				 .shape = { .chunk_count = 1, .chunk_sum = DSFS_SUM_XXH3_64 } };
	block_sums_layout(DSFS_SUM_XXH3_64, 17, 1, 1, &layout);
	memset(head, 0, DSFS_BLOCK);
	memcpy(head->magic, DSFS_FINE_MAGIC, sizeof(head->magic));
	head->chunk_count = head->row_count = dsfs_le64_of(1);
	((uint8_t *)head)[layout.bits] = 1;
	ret->block_sums.length = layout.length;
	CHECK_OK(extent_list_add(&ret->block_sums.extents, address_make(0, 2 << 20), layout.length, &err));
	CHECK_OK(block_sums_open((uint8_t *)head, DSFS_BLOCK, ret, &block_sums, &err));
	return block_sums;
}

static void tables(void **state)
{
	static const uint8_t second = 2;
	struct members members = make_mirror(), back = { .count = 0 };
	struct version version_of, other = { .label = "v1", .chunk_log = 17,
					     .shape = { .chunk_count = 1, .chunk_sum = DSFS_SUM_XXH3_64 } };
	struct block_sums *block_sums = make_sums(&version_of), *got = NULL;
	struct block_sums_row row;
	int fd = -1;

	(void)state;
	CHECK_OK(table_write(&members, &version_of, block_sums, &second, &fd, &err));
	CHECK_FAILS(table_read(fd, 3, &other, &back, &got, &err), -EPROTO, "a table of 2 members, the version has 3");
	CHECK_OK(table_read(fd, 2, &other, &back, &got, &err));
	assert_int_equal(back.group_count, 1);
	assert_int_equal(back.list[0].missing_from, 0);
	assert_int_equal(back.list[1].missing_from, 1);
	assert_true(members_tolerate(&back));
	assert_int_equal(other.block_sums.length, version_of.block_sums.length);
	assert_true(block_sums_find(got, 0, &row));
	block_sums_close(got);
	block_sums_close(block_sums);
	version_free(&version_of);
	version_free(&other);
	members_free(&members);
	members_free(&back);
	close(fd);
}

/* It is refused for a reason, or can be used. */
static int read_table(int fd)
{
	struct version version_of = { .label = "v1", .chunk_log = 17,
				      .shape = { .chunk_count = 1, .chunk_sum = DSFS_SUM_XXH3_64 } };
	struct members members = { .count = 0 };
	struct block_sums *block_sums = NULL;
	struct error why = { 0 };
	int r = table_read(fd, 2, &version_of, &members, &block_sums, &why);

	if (r < 0)
		assert_string_not_equal(why.reason, "");
	block_sums_close(block_sums);
	members_free(&members);
	version_free(&version_of);
	return r;
}

/* Whatever one byte of it is, and wherever it ends. */
static void damaged_tables(void **state)
{
	static const uint8_t none;
	struct members members = make_mirror();
	struct version version_of;
	struct block_sums *block_sums = make_sums(&version_of);
	int fd = -1;
	off_t end;

	(void)state;
	CHECK_OK(table_write(&members, &version_of, block_sums, &none, &fd, &err));
	end = lseek(fd, 0, SEEK_END);
	for (off_t at = 0; at < 2 * end; at++) {
		uint8_t byte, changed;

		assert_int_equal(pread(fd, &byte, 1, at % end), 1);
		changed = at < end ? (uint8_t)~byte : byte ^ 1;
		assert_int_equal(pwrite(fd, &changed, 1, at % end), 1);
		(void)read_table(fd);
		assert_int_equal(pwrite(fd, &byte, 1, at % end), 1);
	}
	assert_int_equal(read_table(fd), 0);
	while (end-- > 0) {
		assert_int_equal(ftruncate(fd, end), 0);
		assert_int_equal(read_table(fd), -EPROTO);
	}
	block_sums_close(block_sums);
	version_free(&version_of);
	members_free(&members);
	close(fd);
}

static void heads(void **state)
{
	struct handover_open query;
	struct handover_answer answer = { .code = 0 };
	const struct error why = { -EPERM, "not for you" };

	(void)state;
	handover_begin(&query.head, HANDOVER_OPEN, sizeof(query));
	CHECK_OK(handover_check(&query, sizeof(query), HANDOVER_OPEN, sizeof(query), &err));
	CHECK_FAILS(handover_check(&query, 3, HANDOVER_OPEN, sizeof(query), &err), -EPROTO, "a message of 3 bytes");
	CHECK_FAILS(handover_check(&query, sizeof(query) - 1, HANDOVER_OPEN, sizeof(query), &err), -EPROTO,
		    "says it has");
	CHECK_FAILS(handover_check(&query, sizeof(query), HANDOVER_REPORT, 1, &err), -EPROTO, "of kind 2, expected 4");
	query.head.earliest = query.head.protocol = HANDOVER_PROTOCOL + 1;
	CHECK_FAILS(handover_check(&query, sizeof(query), HANDOVER_OPEN, sizeof(query), &err), -EPROTONOSUPPORT,
		    "speaks protocols 2 to 2, this release speaks 1");
	query.head.earliest = 1; /* a later release that speaks ours as well */
	CHECK_OK(handover_check(&query, sizeof(query), HANDOVER_OPEN, sizeof(query), &err));
	query.head.magic++;
	CHECK_FAILS(handover_check(&query, sizeof(query), HANDOVER_OPEN, sizeof(query), &err), -EPROTO, "begins with");
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

static const struct state_terms terms = { .is_adaptive = true, .iops = 500, .bandwidth = 1 << 20 };

static void state_tells(void **unused)
{
	static struct state *state; /* for good: this thread's list of futexes is in it */
	const struct state_view *view;
	struct state_terms told;
	pthread_t thread;
	uint64_t volume;

	(void)unused;
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

	(void)unused;
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

	(void)unused;
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
		cmocka_unit_test(wishes),
		cmocka_unit_test(tables),
		cmocka_unit_test(damaged_tables),
		cmocka_unit_test(heads),
		cmocka_unit_test(packets),
		cmocka_unit_test(state_after_sigkill),
		cmocka_unit_test(state_of_the_next_daemon),
		cmocka_unit_test(refused_states),
		cmocka_unit_test(state_tells),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
