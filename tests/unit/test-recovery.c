/* SPDX-License-Identifier: MIT */
/* The recovery record: a successor finds what its predecessor wrote, whenever that was killed, and refuses the rest. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory_file.h"
#include "lib/check.h"
#include "serve/recovery/recovery.h"

#define RESENT (UINT64_C(1) << 63)

static const uint8_t first_uuid[16] = { 1 }, second_uuid[16] = { 2 };
static const struct recovery_version first = {
	.key = 5, .sequence = 9, .uuid = { 1 }, .has_visitor = 1, .visitor = 1000, .signer = { "her", "SHA256:x", 7 }
};
static const struct recovery_request request = {
	.unique = 10, .nodeid = 77, .offset = 4096, .opcode = 15, .size = 512
};
static struct recovery *record;
static int fd = -1;

/* Adds a version with the UUID second_uuid. */
static int add_second(struct recovery *to, uint64_t key, uint64_t sequence, struct error *why)
{
	return recovery_add_version(to, &(struct recovery_version){ .key = key, .sequence = sequence, .uuid = { 2 } },
				    why);
}

/* A mount of two members that serves its first version. */
static int setup(void **state)
{
	CHECK_OK(recovery_new(&record, &fd, &err));
	strcpy(record->volume, "/dev/volume");
	strcpy(record->mountpoint, "/mnt");
	strcpy(record->source, "volume");
	record->workers = 4;
	record->slots = 4;
	record->member_count = 2;
	recovery_set_member(record, 0, "/dev/one");
	CHECK_OK(recovery_add_version(record, &first, &err));
	atomic_store(&record->current, 5);
	recovery_serve(record, &(struct recovery_served){ .key = 5, .serving_since = 100 });
	recovery_set_pointed(record, first_uuid);
	return 0;
}

static int teardown(void **state)
{
	recovery_close(record);
	close(fd);
	return 0;
}

static void a_successor_finds_it(void **state)
{
	struct recovery *seen;

	atomic_store(&record->members[1].is_lost, 1);
	CHECK_OK(recovery_open(fd, &seen, &err));
	assert_string_equal(seen->volume, "/dev/volume");
	assert_string_equal(recovery_member(seen, 0), "/dev/one");
	assert_string_equal(recovery_member(seen, 1), "");
	assert_int_equal(atomic_load(&seen->members[1].is_lost), 1);
	assert_int_equal(recovery_find_version(seen, 5)->sequence, 9);
	assert_memory_equal(recovery_find_version(seen, 5), &first, sizeof(first));
	assert_int_equal(atomic_load(&seen->next_key), 6);
	assert_int_equal(recovery_served(seen)->serving_since, 100);
	assert_memory_equal(recovery_pointed(seen), first_uuid, 16);
	recovery_set_member(seen, 0, "");
	assert_string_equal(recovery_member(record, 0), "");
	recovery_close(seen);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
}

/* A change of one does not show in the other. */
static void copies(void **state)
{
	struct recovery *other;
	int other_fd;

	CHECK_OK(recovery_copy(record, &other_fd, &err));
	CHECK_OK(recovery_open(other_fd, &other, &err));
	assert_memory_equal(other, record, offsetof(struct recovery, members));
	assert_string_equal(recovery_member(other, 0), "/dev/one");
	assert_string_equal(recovery_member(other, 1), "");
	recovery_remove_version(other, 5);
	assert_non_null(recovery_find_version(record, 5));
	recovery_close(other);
	close(other_fd);
}

static void one_without_a_file(void **state)
{
	struct recovery *own;

	CHECK_OK(recovery_new(&own, NULL, &err));
	CHECK_OK(add_second(own, 1, 1, &err));
	assert_non_null(recovery_find_version(own, 1));
	recovery_close(own);
	recovery_close(NULL);
}

/* ---- what is refused ---- */

static const struct {
	const char *reason;
	size_t at;
	uint32_t value;
} wrongs[] = {
#define WRONG(reason, field, value)                                                                                    \
	{                                                                                                              \
		reason, offsetof(struct recovery, field), value                                                        \
	}
#define WRONG_UPPER(reason, field, value)                                                                              \
	{                                                                                                              \
		reason, offsetof(struct recovery, field) + 4, value                                                    \
	}
	WRONG("it begins with", magic, 1),
	WRONG("has format 4 and", format, RECOVERY_FORMAT + 1),
	WRONG("expected 0x", size, 4096),
	WRONG("device_major is 4096, expected 0 to 4095", device_major, 4096),
	WRONG("device_minor", device_minor, 1 << 20),
	WRONG("noted is 2", noted, 2),
	WRONG_UPPER("started", started, 1u << 31),
	WRONG_UPPER("started", started, 1u << 30),
	WRONG("init_ring", init_ring, 2),
	WRONG("init_resends", init_resends, UINT32_MAX),
	WRONG("workers is 0", workers, 0),
	WRONG("workers", workers, UINT32_MAX),
	WRONG("slots", slots, 0),
	WRONG("the crashed worker is 1025", crashed, RECOVERY_WORKERS + 1),
	WRONG_UPPER("the crashed worker is 0", crashed, 7),
	WRONG("crash_used", crash_used, RECOVERY_CRASHES + 1),
	WRONG("next_key is 0", next_key, 0),
	WRONG_UPPER("next_key", next_key, 1u << 31),
	WRONG("version 5 of sequence 9 is not below the next one, 5", next_key, 5),
	WRONG("the version that is current, 6, is not there", current, 6),
	WRONG("the version that is current, 0, is not there", current, 0),
	WRONG("the version that is prepared, 7, is not there", prepared, 7),
	WRONG("served_now", served_now, 2),
	WRONG("the version that is served, 0, is not there", served_now, 0),
	WRONG("pointed_now", pointed_now, 2),
	WRONG("the version that is a command's, 0, is not there", pending_unique, 1),
	WRONG_UPPER("a command with the unique 0x8000000000000000", pending_unique, 1u << 31),
	WRONG("the volume is empty", volume, 0),
	WRONG("the mountpoint is empty", mountpoint, 0),
	WRONG("the source is empty", source, 0),
	WRONG("is not below the next one, 6, or there twice", versions[1].key, 5),
	WRONG("version 4 of sequence 0", versions[1].key, 4),
	WRONG("version 5 has_visitor=2", versions[0].has_visitor, 2),
	WRONG_UPPER("the result 0 of command 0x8000000000000000", results[3].unique, 1u << 31),
	WRONG_UPPER("request 2 is at fault no time", crashes[2].count, 7),
	WRONG("0x1 is no file of .datasetfs in slot 2", snapshots[2], 1),
	WRONG("0x804 is no file of .datasetfs in slot 3", snapshots[3], 2052),
	WRONG_UPPER("0x100000000000 is no file of .datasetfs in slot 0", snapshots[0], 1 << 12),
	WRONG_UPPER("0x8000000000000000 is no file of .datasetfs in slot 0", snapshots[0], 1u << 31),
	WRONG("member_count is 0", member_count, 0),
	WRONG("member_count is 257", member_count, RECOVERY_MEMBERS + 1),
	WRONG("reserved", reserved, 1),
	WRONG("member 1 has the marks 3 and 0", members[1].name_now, 3),
	WRONG("member 1 has the marks 0 and 2", members[1].is_lost, 2),
	WRONG_UPPER("member 1 is silent since -", members[1].silent_since, 1u << 31),
	WRONG_UPPER("member 1 is silent since ", members[1].silent_since, 1u << 30),
};

static void refuses_wrong_values(void **state)
{
	struct recovery *seen;

	for (size_t i = 0; i < sizeof(wrongs) / sizeof(*wrongs); i++) {
		uint8_t *at = (uint8_t *)record + wrongs[i].at;
		uint32_t was;

		memcpy(&was, at, sizeof(was));
		memcpy(at, &wrongs[i].value, sizeof(was));
		CHECK_FAILS(recovery_open(fd, &seen, &err), -EPROTO, wrongs[i].reason);
		memcpy(at, &was, sizeof(was));
	}
	CHECK_OK(recovery_check(record, &err));
}

static void refuses_texts_without_end(void **state)
{
	memset(record->farewell_name, 'x', sizeof(record->farewell_name));
	CHECK_FAILS(recovery_check(record, &err), -EPROTO, "farewell_name has no NUL in 72 bytes");
	record->farewell_name[71] = 0;
	memset(record->members[0].names[0], 'x', RECOVERY_PATH);
	CHECK_FAILS(recovery_check(record, &err), -EPROTO, "the name of member 0 has no NUL");
	record->members[0].names[0][RECOVERY_PATH - 1] = 0;
	memset(record->versions[0].signer.name, 'x', SIGNERS_NAME_SIZE);
	CHECK_FAILS(recovery_check(record, &err), -EPROTO, "the signer of version 5 has no NUL");
	record->versions[0].signer.name[SIGNERS_NAME_SIZE - 1] = 0;
	memset(record->versions[0].signer.key, 'x', SSHKEY_FINGERPRINT_SIZE);
	CHECK_FAILS(recovery_check(record, &err), -EPROTO, "the signer of version 5 has no NUL");
	record->versions[0].signer.key[SSHKEY_FINGERPRINT_SIZE - 1] = 0;
	CHECK_OK(recovery_check(record, &err));
}

static void refuses_wrong_results(void **state)
{
	struct dsfs_switch answer = { .label = "v1" };

	recovery_end_command(record, 20, -ECANCELED, &answer);
	recovery_end_command(record, 21, 0, &answer);
	CHECK_OK(recovery_check(record, &err));
	atomic_store(&record->results[1].unique, 20);
	CHECK_FAILS(recovery_check(record, &err), -EPROTO, "of command 0x14 is wrong, or there twice");
	atomic_store(&record->results[1].unique, 21);
	record->results[1].result = 1;
	CHECK_FAILS(recovery_check(record, &err), -EPROTO, "the result 1 of command 0x15");
	record->results[1].result = 0;
	memset(record->results[1].answer.reason, 'x', DSFS_SWITCH_REASON_SIZE);
	CHECK_FAILS(recovery_check(record, &err), -EPROTO, "of command 0x15 is wrong");
}

static void refuses_doubled_sequences(void **state)
{
	CHECK_OK(add_second(record, 6, 9, &err));
	CHECK_FAILS(recovery_check(record, &err), -EPROTO, "version 6 of sequence 9");
}

static void refuses_other_files(void **state)
{
	int other = memfd_create("test-recovery", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	struct recovery *seen;

	assert_int_equal(ftruncate(other, 4096), 0);
	CHECK_FAILS(recovery_open(other, &seen, &err), -EPROTO, "its seals are 0");
	assert_int_equal(fcntl(other, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL), 0);
	CHECK_FAILS(recovery_open(other, &seen, &err), -EPROTO, "it has 4096 bytes");
	close(other);
	other = open("/dev/null", O_RDWR | O_CLOEXEC);
	CHECK_FAILS(recovery_open(other, &seen, &err), -EPROTO, "its seals are 0");
	close(other);
}

/* ---- a limit on the size of files ---- */

/* Runs a function in a process with this limit. Returns its result, or 99 if it changed the limit. */
static int under_limit(rlim_t soft, rlim_t hard, int (*make)(void))
{
	struct rlimit limit = { soft, hard }, after;
	int status, r;
	pid_t pid = fork();

	if (pid == 0) {
		signal(SIGXFSZ, SIG_IGN);
		if (setrlimit(RLIMIT_FSIZE, &limit) < 0)
			_exit(98);
		r = make();
		(void)getrlimit(RLIMIT_FSIZE, &after);
		_exit(after.rlim_cur != soft || after.rlim_max != hard ? 99 : r);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* Returns 0, or the positive errno. */
static int make_record(void)
{
	struct error error = { 0 };
	struct recovery *own = NULL;
	int own_fd = -1, r = recovery_new(&own, &own_fd, &error);

	recovery_close(own);
	if (own_fd >= 0)
		close(own_fd);
	return -r;
}

/* Makes files. Sets *ret to 1 if one failed, or if another thread had lifted the limit of zero meanwhile. */
static void *make_files(void *ret)
{
	struct error error = { 0 };
	struct rlimit seen = { 0 };
	int own_fd;

	for (int i = 0; i < 1000; i++) {
		if (memory_file_make("test", 1, &own_fd, &error) < 0)
			*(int *)ret = 1;
		else
			close(own_fd);
		if (getrlimit(RLIMIT_FSIZE, &seen) < 0 || seen.rlim_cur != 0)
			*(int *)ret = 1;
	}
	return NULL;
}

static int make_files_in_threads(void)
{
	int failed[4] = { 0 };
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, make_files, &failed[i]), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	return failed[0] + failed[1] + failed[2] + failed[3];
}

static void limits_on_files(void **state)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	assert_int_equal(under_limit(0, limit.rlim_max, make_record), 0);
	assert_int_equal(under_limit(0, 4096, make_record), EFBIG);
	assert_int_equal(under_limit(0, limit.rlim_max, make_files_in_threads), 0);
}

/* ---- what it remembers ---- */

static void versions_come_and_go(void **state)
{
	for (uint64_t key = 6; key < 5 + RECOVERY_VERSIONS; key++)
		CHECK_OK(add_second(record, key, key + 10, &err));
	CHECK_FAILS(add_second(record, 1000, 1000, &err), -ENFILE, "256 versions are open");
	CHECK_OK(recovery_check(record, &err));
	recovery_remove_version(record, 8);
	recovery_remove_version(record, 8);
	assert_null(recovery_find_version(record, 8));
	assert_null(recovery_find_version(record, 0));
	CHECK_OK(add_second(record, 1000, 1000, &err));
	recovery_remove_version(record, 1000);
	assert_int_equal(atomic_load(&record->next_key), 1001);
	CHECK_OK(recovery_check(record, &err));
}

static void commands_have_one_result(void **state)
{
	struct dsfs_switch answer = { .label = "v1", .switch_us = 3 };
	uint64_t unique, key;

	assert_false(recovery_pending(record, &unique, &key));
	recovery_begin_command(record, 20 | RESENT, 5);
	assert_true(recovery_pending(record, &unique, &key));
	assert_int_equal(unique, 20);
	assert_int_equal(key, 5);
	assert_null(recovery_find_result(record, 20));
	recovery_end_command(record, 20, -EIO, &answer);
	assert_false(recovery_pending(record, &unique, &key));
	recovery_end_command(record, 20 | RESENT, 0, &(struct dsfs_switch){ .label = "v2" });
	assert_int_equal(recovery_find_result(record, 20 | RESENT)->result, -EIO);
	assert_memory_equal(&recovery_find_result(record, 20)->answer, &answer, sizeof(answer));
	assert_null(recovery_find_result(record, 0));
	/* One that was refused, by labels without an end, while another is under way. */
	recovery_begin_command(record, 21, 5);
	memset(answer.if_current, 'x', sizeof(answer.if_current));
	recovery_end_command(record, 22, -EINVAL, &answer);
	assert_true(recovery_pending(record, &unique, &key));
	CHECK_OK(recovery_check(record, &err));
}

static void the_oldest_results_go(void **state)
{
	struct dsfs_switch answer = { .label = "v1" };

	for (uint64_t unique = 1; unique <= RECOVERY_RESULTS + 2; unique++)
		recovery_end_command(record, unique, 0, &answer);
	assert_null(recovery_find_result(record, 2));
	assert_non_null(recovery_find_result(record, 3));
	assert_non_null(recovery_find_result(record, RECOVERY_RESULTS + 2));
	CHECK_OK(recovery_check(record, &err));
}

static uint32_t crash_with(uint32_t incarnation, const struct recovery_request *in_hand)
{
	struct recovery_request found = { 0 };
	uint32_t times;

	recovery_take(record, 3, in_hand);
	recovery_mark_crash(record, 3);
	recovery_mark_crash(record, 2);
	times = recovery_take_over(record, incarnation, &found);
	assert_int_equal(found.nodeid, in_hand->nodeid);
	assert_int_equal(found.unique, in_hand->unique);
	return times;
}

static void crashes_are_counted(void **state)
{
	struct recovery_request again = request, other = request, found;

	again.unique = 11;
	other.offset = 0;
	assert_int_equal(crash_with(1, &request), 1);
	assert_int_equal(recovery_take_over(record, 2, &found), 0); /* a kill from outside */
	assert_int_equal(crash_with(3, &again), 2);
	assert_int_equal(recovery_crashes(record, &request), 2);
	assert_int_equal(recovery_crashes(record, &other), 0);
	recovery_take(record, 1, &request);
	recovery_leave(record, 1);
	recovery_mark_crash(record, 1); /* not in a request */
	assert_int_equal(recovery_take_over(record, 4, &found), 0);
	recovery_take(record, RECOVERY_WORKERS, &request); /* more than there are places for */
	recovery_leave(record, RECOVERY_WORKERS);
	recovery_mark_crash(record, RECOVERY_WORKERS);
	assert_int_equal(recovery_take_over(record, 5, &found), 0);
	assert_int_equal(atomic_load(&record->incarnation), 5);
	CHECK_OK(recovery_check(record, &err));
}

static void the_oldest_crash_goes(void **state)
{
	struct recovery_request next = request;

	for (uint32_t i = 1; i <= RECOVERY_CRASHES + 1; i++) {
		next.nodeid = i;
		assert_int_equal(crash_with(i, &next), 1);
	}
	next.nodeid = 1;
	assert_int_equal(recovery_crashes(record, &next), 0);
	next.nodeid = 2;
	assert_int_equal(recovery_crashes(record, &next), 1);
	next.nodeid = RECOVERY_CRASHES + 1;
	assert_int_equal(recovery_crashes(record, &next), 1);
	CHECK_OK(recovery_check(record, &err));
}

/* ---- a kill between any two instructions ---- */

/* Runs `steps` in a process, and `look` here after each of its instructions. */
static void after_each_instruction(void (*steps)(void), void (*look)(void))
{
	struct utsname machine;
	int status, signal = 0;
	pid_t pid;

	assert_int_equal(uname(&machine), 0);
	if (strcmp(machine.machine, "x86_64") != 0)
		skip(); /* elsewhere an atomic exchange may never end when it is stepped through */
	pid = fork();
	if (pid == 0) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
			_exit(77);
		raise(SIGSTOP);
		steps();
		_exit(0);
	}
	while (waitpid(pid, &status, 0) == pid && WIFSTOPPED(status)) {
		signal = WSTOPSIG(status) == SIGTRAP || WSTOPSIG(status) == SIGSTOP ? 0 : WSTOPSIG(status);
		look();
		assert_int_equal(ptrace(PTRACE_SINGLESTEP, pid, NULL, (void *)(intptr_t)signal), 0);
	}
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		skip();
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static unsigned seen_pending, seen_unfinished, seen_done;

static void switch_steps(void)
{
	struct dsfs_switch answer = { .label = "v2", .sequence = 11 };

	if (add_second(record, 6, 11, NULL) < 0)
		_exit(1);
	recovery_begin_command(record, 20, 6);
	atomic_store(&record->current, 6);
	recovery_serve(record, &(struct recovery_served){ .key = 6, .switches = 1, .serving_since = 200 });
	recovery_end_command(record, 20, 0, &answer);
	recovery_set_pointed(record, second_uuid);
	recovery_set_member(record, 0, "/dev/two");
	recovery_remove_version(record, 5);
}

static void switch_look(void)
{
	const struct recovery_served *served = recovery_served(record);
	const struct recovery_result *result = recovery_find_result(record, 20);
	const uint8_t *pointed = recovery_pointed(record);
	bool is_new = served->key == 6, is_current = atomic_load(&record->current) == 6;
	uint64_t unique = 0, key = 0;
	bool pending = recovery_pending(record, &unique, &key);

	CHECK_OK(recovery_check(record, &err));
	assert_true(is_new ? served->switches == 1 && served->serving_since == 200 :
			     served->key == 5 && !served->switches && served->serving_since == 100);
	assert_true(is_current || !is_new);
	assert_true(!pending || (unique == 20 && key == 6 && !result));
	assert_true(pending || result || !is_current);
	assert_true(!result || (is_new && result->answer.sequence == 11 && !strcmp(result->answer.label, "v2")));
	assert_true(!memcmp(pointed, first_uuid, 16) || !memcmp(pointed, second_uuid, 16));
	assert_true(!strcmp(recovery_member(record, 0), "/dev/one") || !strcmp(recovery_member(record, 0), "/dev/two"));
	seen_pending += pending;
	seen_unfinished += is_current && !is_new;
	seen_done += result != NULL;
}

static void a_kill_within_a_switch(void **state)
{
	after_each_instruction(switch_steps, switch_look);
	assert_true(seen_pending && seen_unfinished && seen_done);
	assert_string_equal(recovery_member(record, 0), "/dev/two");
	assert_null(recovery_find_version(record, 5));
}

static struct recovery *copy;
static uint32_t expected;

static void takeover_steps(void)
{
	struct recovery_request found;

	(void)!recovery_take_over(record, atomic_load(&record->incarnation) + 1, &found);
}

/* The next server after a kill in the middle of a takeover finds the crash counted, or counts it. */
static void takeover_look(void)
{
	struct recovery_request found;

	CHECK_OK(recovery_check(record, &err));
	memcpy(copy, record, offsetof(struct recovery, members[1]));
	(void)!recovery_take_over(copy, atomic_load(&record->incarnation) + 2, &found);
	CHECK_OK(recovery_check(copy, &err));
	assert_int_equal(recovery_crashes(copy, &request), expected);
}

/* Crashes with the request in hand, and steps through the takeover; it is at fault `times` now. */
static void crash_in_steps(uint32_t times)
{
	expected = times;
	recovery_take(record, 1, &request);
	recovery_mark_crash(record, 1);
	after_each_instruction(takeover_steps, takeover_look);
	assert_int_equal(recovery_crashes(record, &request), times);
}

static void a_kill_within_a_takeover(void **state)
{
	struct recovery_request next = request;

	CHECK_OK(recovery_new(&copy, NULL, &err));
	crash_in_steps(1);
	crash_in_steps(2);
	/* Others fill all places, so that one has to give way. */
	for (uint32_t i = 9; i < 9 + RECOVERY_CRASHES; i++) {
		next.nodeid = i;
		assert_int_equal(crash_with(i, &next), 1);
	}
	assert_int_equal(recovery_crashes(record, &request), 0);
	crash_in_steps(1);
	recovery_close(copy);
}

CHECK_MAIN(cmocka_unit_test_setup_teardown(a_successor_finds_it, setup, teardown),
	   cmocka_unit_test_setup_teardown(copies, setup, teardown), cmocka_unit_test(one_without_a_file),
	   cmocka_unit_test_setup_teardown(refuses_wrong_values, setup, teardown),
	   cmocka_unit_test_setup_teardown(refuses_texts_without_end, setup, teardown),
	   cmocka_unit_test_setup_teardown(refuses_wrong_results, setup, teardown),
	   cmocka_unit_test_setup_teardown(refuses_doubled_sequences, setup, teardown),
	   cmocka_unit_test(refuses_other_files), cmocka_unit_test(limits_on_files),
	   cmocka_unit_test_setup_teardown(versions_come_and_go, setup, teardown),
	   cmocka_unit_test_setup_teardown(commands_have_one_result, setup, teardown),
	   cmocka_unit_test_setup_teardown(the_oldest_results_go, setup, teardown),
	   cmocka_unit_test_setup_teardown(crashes_are_counted, setup, teardown),
	   cmocka_unit_test_setup_teardown(the_oldest_crash_goes, setup, teardown),
	   cmocka_unit_test_setup_teardown(a_kill_within_a_switch, setup, teardown),
	   cmocka_unit_test_setup_teardown(a_kill_within_a_takeover, setup, teardown))
