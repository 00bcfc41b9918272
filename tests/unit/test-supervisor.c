/* SPDX-License-Identifier: MIT */
/* A supervisor and its servers. This program is the server as well, when a supervisor starts it: it does as the test
 * tells it over a socket that all servers inherit, and reports there. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/program/descriptors.h"
#include "lib/check.h"
#include "supervisor/dying_servers.h"
#include "supervisor/ending.h"
#include "supervisor/fdstore.h"
#include "supervisor/keep.h"
#include "supervisor/message.h"
#include "supervisor/outbox.h"
#include "supervisor/pauses.h"
#include "supervisor/supervisor.h"

#define ORDERS 100 /* descriptor at which a server gets its orders */
#define ABORTS 101 /* the file that it has its supervisor keep as the connection's */
#define LINE   128
#define MS     INT64_C(1000000)

/* ---- the server ---- */

static void report(const char *fmt, ...) printf_like(1, 2);
static void report(const char *fmt, ...)
{
	char line[LINE];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (send(ORDERS, line, strlen(line), MSG_NOSIGNAL) < 0)
		_exit(99);
}

static int file_of(const char *text)
{
	int fd = memfd_create("test", MFD_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		_exit(98);
	return fd;
}

static void do_put(struct keep *keep, const char *name, const char *text)
{
	struct error err = { 0 };
	int fd = strcmp(name, "abort") ? file_of(text) : dup(ABORTS);

	if (keep_put(keep, fd, &err, "%s", name) < 0)
		report("error %s", err.reason);
	close(fd);
}

/* Has a connection kept that ends with this process. */
static void do_connect(struct keep *keep)
{
	struct error err = { 0 };
	int pair[2];

	if (pipe2(pair, O_CLOEXEC) < 0 || keep_put(keep, pair[1], &err, "fuse") < 0)
		report("error %s", err.reason);
	close(pair[1]);
}

static void take_text(struct keep *keep, const char *name, char text[LINE])
{
	int fd = keep_take(keep, "%s", name);

	snprintf(text, LINE, "nothing");
	if (fd < 0)
		return;
	memset(text, 0, LINE);
	if (pread(fd, text, LINE - 1, 0) < 0)
		_exit(97);
	close(fd);
}

static void do_show(struct keep *keep, const char *name)
{
	char text[LINE];

	take_text(keep, name, text);
	report("%s", text);
}

static void do_upgrade(struct keep *keep, const char *path)
{
	int fd = open(path, O_PATH | O_CLOEXEC);
	struct error err = { 0 };

	if (fd < 0 || keep_upgrade(keep, fd, "request-7", &err) < 0)
		report("error %s", err.reason);
	close(fd);
}

/* A rehearsal does as the servers have planned. */
static void rehearse(struct keep *keep)
{
	struct error err = { 0 };
	char plan[LINE];

	take_text(keep, "plan", plan);
	if (!strcmp(plan, "refuse")) {
		error_set(&err, -EPROTO, "no such format");
		keep_refuse(keep, &err);
	} else if (!strcmp(plan, "exit")) {
		_exit(3);
	} else if (!strcmp(plan, "crash")) {
		signal(SIGSEGV, SIG_DFL); /* a sanitizer handles it */
		raise(SIGSEGV);
	} else if (strcmp(plan, "hang") != 0) {
		keep_prepared(keep);
	}
	for (;;)
		pause();
}

static void report_upgrade(struct keep *keep)
{
	const struct keep_answer *told = keep_upgraded(keep);

	report("upgraded %s %d %s", told->name, told->why.code, told->why.reason);
}

static void *sleep_for_ever(void *argument)
{
	for (;;)
		pause();
	return argument;
}

/* The first thread ends, the process does not. */
static void do_half_die(void)
{
	pthread_t other;

	pthread_create(&other, NULL, sleep_for_ever, NULL);
	syscall(SYS_exit, 0);
}

static void obey(struct keep *keep, const char *order)
{
	char word[LINE], name[LINE] = "", text[LINE] = "";

	sscanf(order, "%127s %127s %127s", word, name, text);
	if (!strcmp(word, "put"))
		do_put(keep, name, text);
	else if (!strcmp(word, "many"))
		for (int i = 0; i < atoi(name); i++)
			do_put(keep, (snprintf(word, sizeof(word), "many.%d", i), word), word);
	else if (!strcmp(word, "drop"))
		keep_drop(keep, "%s", name);
	else if (!strcmp(word, "show"))
		do_show(keep, name);
	else if (!strcmp(word, "ready"))
		keep_ready(keep);
	else if (!strcmp(word, "beat"))
		keep_beat(keep);
	else if (!strcmp(word, "close"))
		keep_close(keep);
	else if (!strcmp(word, "upgrade"))
		do_upgrade(keep, name);
	else if (!strcmp(word, "half"))
		do_half_die();
	else if (!strcmp(word, "crash"))
		keep_crash(SIGSEGV);
	else if (!strcmp(word, "heard"))
		keep_heard(keep, (uint32_t)atoi(name));
	else if (!strcmp(word, "left"))
		keep_drop_left(keep, name);
	else if (!strcmp(word, "connect"))
		do_connect(keep);
	else if (!strcmp(word, "exit"))
		_exit(atoi(name));
}

static void hear(struct keep *keep)
{
	struct keep_event event = keep_next(keep);

	if (event.kind == KEEP_SIGNAL)
		report("signal %u", event.number);
	else if (event.kind == KEEP_GONE)
		report("gone %u", event.number);
	else if (event.kind == KEEP_UPGRADED)
		report_upgrade(keep);
	else if (event.kind == KEEP_STOP)
		report("stop");
	else if (event.kind == KEEP_LOST)
		report("lost");
}

static void introduce(struct keep *keep)
{
	char plan[LINE];

	report("server %d restarts %u %s", (int)getpid(), keep_restarts(keep),
	       getpid() == getpgrp() && keep_supervisor(keep) == getppid() ? "alone" : "with others");
	if (keep_restarts(keep) != 1)
		return;
	take_text(keep, "plan", plan);
	if (!strcmp(plan, "late"))
		_exit(5);
}

static int serve(void)
{
	struct error err = { 0 };
	struct keep *keep;
	char order[LINE];
	struct pollfd fds[2] = { { ORDERS, POLLIN, 0 } };
	ssize_t n;

	if (keep_open(&keep, &err) < 0) {
		report("error %s", err.reason);
		return 96;
	}
	if (keep_is_rehearsal(keep))
		rehearse(keep);
	introduce(keep);
	if (keep_upgraded(keep))
		report_upgrade(keep);
	for (;;) {
		fds[1] = (struct pollfd){ keep_fd(keep), POLLIN, 0 };
		if (poll(fds, 2, -1) < 0)
			return 95;
		if (fds[1].revents)
			hear(keep);
		if (!fds[0].revents)
			continue;
		n = recv(ORDERS, order, sizeof(order) - 1, 0);
		if (n <= 0)
			return 94;
		order[n] = 0;
		obey(keep, order);
		if (!strcmp(order, "close"))
			keep = NULL;
	}
}

/* ---- the test ---- */

static int orders, errors, aborts;
static pid_t supervisor, server;

static void report_ready(void *argument)
{
	report("%s", (const char *)argument);
}

static _Noreturn void supervise(int patience)
{
	char *argv[] = { "test-supervisor", NULL };
	struct supervisor_setup setup = { argv, report_ready, "mounted", patience };
	const struct rlimit none = { 0, 0 };

	prctl(PR_SET_PDEATHSIG, SIGKILL); /* servers end with the socket */
	close(orders);
	setrlimit(RLIMIT_CORE, &none);
	_exit(supervisor_run(&setup));
}

static const char *heard_next(void)
{
	static char line[LINE];
	ssize_t n = recv(orders, line, sizeof(line) - 1, 0);

	assert_true(n > 0);
	line[n] = 0;
	return line;
}

/* Mostly a server is replaced before its process is gone, so that word of that may come at any time. */
static const char *heard(void)
{
	const char *line;

	do
		line = heard_next();
	while (!strncmp(line, "gone ", 5));
	return line;
}

/* A server has begun, with `before` servers before it. */
static void expect_server(unsigned before)
{
	char expected[LINE];
	const char *line = heard();

	assert_int_equal(sscanf(line, "server %d", &server), 1);
	snprintf(expected, sizeof(expected), "server %d restarts %u alone", (int)server, before);
	assert_string_equal(line, expected);
}

static void order(const char *fmt, ...) printf_like(1, 2);
static void order(const char *fmt, ...)
{
	char line[LINE];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	assert_true(send(orders, line, strlen(line), MSG_NOSIGNAL) > 0);
}

static void begin_with(int patience)
{
	int pair[2];

	errors = memfd_create("errors", MFD_CLOEXEC);
	aborts = memfd_create("aborts", MFD_CLOEXEC);
	assert_true(errors >= 0 && aborts >= 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	orders = pair[0];
	supervisor = fork();
	if (supervisor == 0) {
		if (dup2(pair[1], ORDERS) < 0 || dup2(aborts, ABORTS) < 0 ||
		    dup2(errors, STDERR_FILENO) < 0)
			_exit(93);
		supervise(patience);
	}
	close(pair[1]);
	expect_server(0);
}

static void begin(void)
{
	begin_with(0);
}

/* As after mounting. */
static void begin_serving(int patience)
{
	begin_with(patience);
	order("put fuse the-connection");
	order("put abort -");
	order("ready");
	assert_string_equal(heard(), "mounted");
}

/* Waits until the supervisor has said this. */
static void expect_said(const char *text)
{
	char said[4096];
	ssize_t n;

	for (int i = 0; i < 100000; i++) {
		n = pread(errors, said, sizeof(said) - 1, 0);
		assert_true(n >= 0);
		said[n] = 0;
		if (strstr(said, text))
			return;
		usleep(1000);
	}
	fail_msg("'%s' does not contain '%s'", said, text);
}

/* The supervisor ends with this status. */
static void expect_end(int status)
{
	int got;

	assert_int_equal(waitpid(supervisor, &got, 0), supervisor);
	assert_true(WIFEXITED(got));
	assert_int_equal(WEXITSTATUS(got), status);
	close(orders);
}

static void end(void)
{
	order("close");
	order("exit 0");
	expect_end(0);
	close(errors);
}

static void expect_shown(const char *name, const char *text)
{
	order("show %s", name);
	assert_string_equal(heard(), text);
}

static void kill_server(int number)
{
	assert_int_equal(kill(server, number), 0);
}

static void kept_descriptors(void **state)
{
	begin_serving(0);
	order("put one first");
	order("put one second");
	order("put two other");
	order("put three gone");
	order("drop three");
	order("drop four");
	expect_shown("one", "nothing"); /* a server takes only those of before */
	kill_server(SIGKILL);
	expect_server(1);
	expect_shown("fuse", "the-connection");
	expect_shown("one", "second");
	expect_shown("one", "nothing"); /* taken */
	expect_shown("three", "nothing");
	order("ready");
	expect_said("the server was killed by signal 9, another one serves after ");
	kill_server(SIGKILL);
	expect_server(2);
	expect_shown("one", "second");
	expect_shown("two", "other");
	expect_shown("life", "nothing");
	end();
}

static unsigned entries_of(const char *folder)
{
	char path[LINE];
	unsigned count = 0;
	DIR *directory;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)supervisor, folder);
	directory = opendir(path);
	assert_non_null(directory);
	while (readdir(directory))
		count++;
	closedir(directory);
	return count;
}

/* Neither descriptors nor threads of servers stay. */
static void many_servers(void **state)
{
	unsigned descriptors, threads;

	begin_serving(0);
	expect_shown("none", "nothing");
	descriptors = entries_of("fd");
	threads = entries_of("task");
	for (unsigned i = 1; i <= 50; i++) {
		kill_server(SIGKILL);
		expect_server(i);
		order("ready");
		expect_shown("fuse", "the-connection");
	}
	assert_int_equal(entries_of("fd"), descriptors);
	assert_int_equal(entries_of("task"), threads);
	end();
}

/* More than fit the socket's buffer. */
static void many_descriptors(void **state)
{
	begin_serving(0);
	order("many 600");
	expect_shown("none", "nothing");
	kill_server(SIGKILL);
	expect_server(1);
	expect_shown("many.0", "many.0");
	expect_shown("many.599", "many.599");
	end();
}

static void signals(void **state)
{
	begin_serving(0);
	assert_int_equal(kill(supervisor, SIGTERM), 0);
	assert_string_equal(heard(), "signal 15");
	assert_int_equal(kill(supervisor, SIGHUP), 0);
	assert_string_equal(heard(), "signal 1");
	order("heard 1");
	expect_shown("fuse", "nothing"); /* it has said so */
	kill_server(SIGKILL); /* before it has acted on the other one, which the next one gets */
	expect_server(1);
	assert_string_equal(heard(), "signal 15");
	order("heard 15");
	order("ready");
	expect_said("another one serves");
	kill_server(SIGKILL);
	expect_server(2);
	expect_shown("fuse", "the-connection");
	end();
}

/* Drops what a server of before had put, and nobody takes. */
static void left_descriptors(void **state)
{
	begin_serving(0);
	order("put some.1 first");
	order("put some.2 second");
	order("put other third");
	expect_shown("other", "nothing");
	kill_server(SIGKILL);
	expect_server(1);
	expect_shown("some.1", "first");
	order("left some.");
	order("ready");
	expect_shown("other", "third");
	kill_server(SIGKILL);
	expect_server(2);
	expect_shown("some.1", "first");
	expect_shown("some.2", "nothing");
	expect_shown("other", "third");
	end();
}

static pid_t child_that(void (*does)(void))
{
	pid_t child = fork();

	if (child == 0)
		does();
	assert_true(child > 0);
	return child;
}

static void spins(void)
{
	for (;;)
		continue;
}

static void sleeps(void)
{
	for (;;)
		pause();
}

static void end_child(pid_t child)
{
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, NULL, 0), child);
}

/* It is told once that what is left of a process sleeps; one that runs may still take something. */
static void servers_that_die(void **state)
{
	pid_t awake = child_that(spins), asleep = child_that(sleeps), found = 0;
	const struct dying_server *stays;
	struct dying_servers dying = { 0 };
	int64_t now = 1;

	assert_int_equal(dying_servers_next(&dying), INT64_MAX);
	assert_int_equal(dying_servers_add(&dying, awake, false, NULL), 0);
	assert_int_equal(dying_servers_add(&dying, asleep, true, NULL), 0);
	for (; !found && now < 10000 * MS; now += 10 * MS, usleep(10000))
		found = dying_servers_look(&dying, now);
	assert_int_equal(found, asleep);
	for (int i = 0; i < 10; i++, now += 1000 * MS)
		assert_int_equal(dying_servers_look(&dying, now), 0);
	assert_true(dying_servers_next(&dying) < now + 1000 * MS);
	assert_null(dying_servers_stay(&dying, 30000 * MS, now));
	for (int i = 0; i < 2; i++) {
		stays = dying_servers_stay(&dying, 9000 * MS, now);
		assert_non_null(stays);
		assert_int_equal(stays->holds_requests, stays->process == asleep);
	}
	assert_null(dying_servers_stay(&dying, 9000 * MS, now));
	end_child(awake);
	end_child(asleep);
	assert_true(dying_servers_end(&dying, asleep));
	assert_false(dying_servers_end(&dying, asleep));
	assert_true(dying_servers_end(&dying, awake));
	assert_int_equal(dying_servers_next(&dying), INT64_MAX);
	dying_servers_free(&dying);
}

/* A process whose first thread has ended is replaced, and ended wholly, which is told. */
static void half_dead(void **state)
{
	char gone[LINE];
	pid_t old;

	begin_serving(0);
	order("half");
	old = server;
	expect_server(1);
	order("ready");
	expect_said("the server has ended, another one serves after ");
	snprintf(gone, sizeof(gone), "gone %d", (int)old);
	assert_string_equal(heard_next(), gone);
	end();
}

/* A server that says that it crashes is left alone until it has ended: a sanitizer may have a report to write. */
static void crashing(void **state)
{
	begin_serving(0);
	order("crash");
	order("exit 7");
	expect_end(7);
}

static void exit_statuses(void **state)
{
	begin(); /* a failure before it serves */
	order("exit 32");
	expect_end(32);
	begin_serving(0);
	order("exit 7");
	expect_end(7);
	begin_serving(0);
	order("exit %d", SUPERVISOR_AGAIN);
	expect_server(1);
	end();
}

static void killed_without_a_mount(void **state)
{
	begin();
	kill_server(SIGKILL);
	expect_end(32);
	expect_said("the daemon was killed by signal 9 before it was ready");
	begin_serving(0);
	order("drop fuse");
	expect_shown("none", "nothing");
	kill_server(SIGABRT);
	expect_end(1);
	expect_said("the server was killed by signal 6, the mount ends");
}

/* A server that has said that it ends is not replaced, and the connection is aborted when it is killed. */
static void killed_at_its_end(void **state)
{
	char byte = 0;

	begin_serving(0);
	order("close");
	expect_shown("none", "nothing");
	kill_server(SIGKILL);
	expect_end(1);
	assert_int_equal(pread(aborts, &byte, 1, 0), 1);
	assert_int_equal(byte, '1');
}

/* Without READY, and with a mount. */
static void never_ready(void **state)
{
	begin_serving(0);
	kill_server(SIGABRT);
	for (unsigned i = 1; i < 4; i++) {
		expect_server(i);
		kill_server(SIGABRT);
	}
	expect_server(4);
	expect_said("a server was killed by signal 6 before it served, the next one starts in 40 ms");
	order("exit 2");
	expect_server(5);
	expect_said("a server has ended with status 2 before it served, the next one starts in 80 ms");
	kill_server(SIGKILL);
	expect_server(6);
	order("ready");
	expect_said("the server was killed by signal 6, another one serves after ");
	expect_said(" ms, restarts=6");
	end();
}

/* A server that does not understand what was left, and says so. */
static void refuses(void **state)
{
	begin_serving(0);
	kill_server(SIGKILL);
	expect_server(1);
	order("close");
	order("exit 1");
	expect_end(1);
}

/* The signal goes to the next server; if that fails as well, the mount ends. One that was killed did not fail. */
static void signal_without_server(void **state)
{
	char byte = 0;

	begin_serving(0);
	kill_server(SIGABRT);
	expect_server(1);
	order("exit 2");
	expect_server(2);
	assert_int_equal(kill(supervisor, SIGTERM), 0);
	assert_string_equal(heard(), "signal 15");
	kill_server(SIGKILL);
	expect_server(3);
	assert_string_equal(heard(), "signal 15");
	assert_int_equal(pread(aborts, &byte, 1, 0), 0);
	order("exit 2");
	expect_end(1);
	expect_said("no server can start, and a signal asks for the end: the mount ends");
	assert_int_equal(pread(aborts, &byte, 1, 0), 1);
}

/* The connection is a pipe, whose other end the server has. */
static void unmounted_without_server(void **state)
{
	begin_serving(0);
	order("connect");
	kill_server(SIGABRT);
	expect_server(1);
	order("exit 2");
	expect_end(0);
	expect_said("the mount was unmounted while no server could start");
}

/* On a slow machine more than the first server may be too late. */
static void silent(void **state)
{
	begin_serving(300);
	kill(server, SIGSTOP);
	expect_said("the server does not respond, it is killed");
	assert_int_equal(strncmp(heard(), "server ", 7), 0);
	assert_int_equal(kill(supervisor, SIGKILL), 0);
	assert_int_equal(waitpid(supervisor, NULL, 0), supervisor);
	close(orders); /* which ends the last one */
	close(errors);
}

/* A server that has said that it ends did not fail because a device keeps one of its threads. */
static void ends_but_for_a_thread(void **state)
{
	begin_serving(300);
	order("close");
	order("half");
	expect_said("wait for a device and end later");
	expect_end(0);
	kill_server(SIGKILL);
	close(errors);
}

static void supervisor_is_killed(void **state)
{
	begin_serving(0);
	assert_int_equal(kill(supervisor, SIGKILL), 0);
	assert_string_equal(heard(), "lost");
	order("put more after-that");
	order("ready");
	expect_shown("none", "nothing"); /* it goes on */
	order("close");
	order("exit 0");
	assert_int_equal(waitpid(supervisor, NULL, 0), supervisor);
	close(orders);
	close(errors);
}

/* ---- upgrades ---- */

static void begin_upgrade(const char *plan, int patience)
{
	begin_serving(patience);
	order("put plan %s", plan);
	order("upgrade /proc/self/exe");
}

static void upgraded(void **state)
{
	begin_upgrade("go", 0);
	assert_string_equal(heard(), "stop");
	order("put last word");
	order("exit %d", SUPERVISOR_AGAIN);
	expect_server(1);
	assert_string_equal(heard(), "upgraded request-7 0 ");
	expect_shown("last", "word");
	order("ready");
	expect_said("a server of the new program serves after ");
	kill_server(SIGKILL);
	expect_server(2); /* which is told nothing */
	end();
}

/* The server that was to be replaced goes on, and can be asked again. */
static void expect_refused(const char *plan, const char *answer)
{
	char expected[LINE];

	begin_upgrade(plan, 0);
	snprintf(expected, sizeof(expected), "upgraded request-7 %s", answer);
	assert_string_equal(heard(), expected);
	expect_said("the program is not replaced: ");
	order("upgrade /dev/null");
	assert_string_equal(heard(), "upgraded request-7 -8 the new program cannot be executed");
	end();
}

static void not_upgraded(void **state)
{
	expect_refused("refuse", "-71 the new program refuses: no such format");
	expect_refused("exit", "-5 the new program has ended with status 3 before it was ready");
	expect_refused("crash", "-5 the new program was killed by signal 11 before it was ready");
}

static void upgrade_hangs(void **state)
{
	char text[LINE];
	struct pollfd fd;

	begin_upgrade("hang", 2000);
	order("upgrade /proc/self/exe");
	assert_string_equal(heard(), "upgraded request-7 -16 another upgrade is under way");
	fd = (struct pollfd){ orders, POLLIN, 0 };
	do
		order("beat");
	while (poll(&fd, 1, 20) == 0);
	snprintf(text, sizeof(text), "upgraded request-7 -110 the new program does not say whether it can go on, "
		 "it was killed");
	assert_string_equal(heard(), text);
	end();
}

/* The rehearsal went well, but the server that comes up ends. */
static void upgrade_is_undone(void **state)
{
	begin_upgrade("late", 0);
	assert_string_equal(heard(), "stop");
	kill_server(SIGSTOP); /* it is killed */
	expect_server(1);
	expect_server(2);
	assert_string_equal(heard(), "upgraded request-7 -5 the new program has ended with status 5 before it served");
	order("ready");
	expect_said("restarts=2");
	end();
}

/* A server that dies, or a mount that ends, takes the rehearsal with it. */
static void upgrade_is_cut_off(void **state)
{
	begin_upgrade("hang", 0);
	expect_shown("none", "nothing");
	kill_server(SIGKILL);
	expect_server(1);
	order("ready");
	order("upgrade /dev/null");
	assert_string_equal(heard(), "upgraded request-7 -8 the new program cannot be executed");
	order("upgrade /proc/self/exe");
	expect_shown("none", "nothing");
	end();
}

/* The service manager hears of each beat. */
static void notifications(void **state)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), length;
	char text[LINE];

	length = snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "datasetfs-test-%d", (int)getpid());
	assert_int_equal(bind(fd, (struct sockaddr *)&address,
			      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length)), 0);
	snprintf(text, sizeof(text), "@%s", address.sun_path + 1);
	setenv("NOTIFY_SOCKET", text, 1);
	begin_serving(0);
	order("beat");
	text[recv(fd, text, sizeof(text) - 1, 0)] = 0;
	assert_string_equal(text, "WATCHDOG=1");
	unsetenv("NOTIFY_SOCKET");
	close(fd);
	end();
}

static void without_supervisor(void **state)
{
	struct keep *keep;

	CHECK_OK(keep_open(&keep, &err));
	assert_null(keep);
	assert_false(keep_is_successor(keep));
	assert_int_equal(keep_take(keep, "fuse"), -1);
	assert_int_equal(keep_fd(keep), -1);
	assert_int_equal(keep_next(keep).kind, KEEP_NOTHING);
	CHECK_OK(keep_put(keep, 0, &err, "fuse"));
	keep_ready(keep);
	keep_close(keep);
	setenv(SUPERVISOR_VARIABLE, "2000000", 1);
	CHECK_FAILS(keep_open(&keep, &err), -EINVAL, "is not the socket of a supervisor");
	unsetenv(SUPERVISOR_VARIABLE);
}

/* ---- the parts ---- */

static void pauses(void **state)
{
	const int64_t crash[] = { 10, 20, 40, 80, 160, 250, 250 }, start[] = { 10, 20, 40, 80, 160, 320, 640, 1280,
									       2560, 5000, 5000 };
	struct pauses pauses = { 0 };

	assert_int_equal(pauses_next(&pauses, SIGKILL, MS), 0);
	assert_int_equal(pauses_next(&pauses, SIGTERM, MS), 0);
	assert_int_equal(pauses_next(&pauses, ENDING_UNKNOWN, MS), 0);
	assert_int_equal(pauses_next(&pauses, SUPERVISOR_AGAIN << 8, MS), 0);
	for (size_t i = 0; i < sizeof(crash) / sizeof(crash[0]); i++)
		assert_int_equal(pauses_next(&pauses, SIGSEGV, MS), crash[i] * MS);
	for (size_t i = 0; i < sizeof(start) / sizeof(start[0]); i++)
		assert_int_equal(pauses_next(&pauses, i % 2 ? SIGSEGV : 1 << 8, -1), start[i] * MS);
	assert_int_equal(pauses_next(&pauses, SIGSEGV, 10001 * MS), 10 * MS); /* it has served for long */
	assert_int_equal(pauses_next(&pauses, SIGSEGV, -1), 10 * MS);
	for (unsigned i = 0; i < 10; i++)
		assert_int_equal(pauses_next(&pauses, SIGKILL, -1), 0);
	for (size_t i = 0; i < sizeof(crash) / sizeof(crash[0]); i++)
		assert_int_equal(pauses_next(&pauses, SIGKILL, -1), crash[i] * MS);
	assert_int_equal(pauses_next(&pauses, SIGKILL, MS), 0);
	assert_int_equal(pauses_next(&pauses, SIGKILL, -1), 0);
}

static void full_store(void **state)
{
	struct fdstore store = { 0 };
	char name[SUPERVISOR_NAME];
	int fd;

	descriptors_raise_limit();
	for (unsigned i = 0; i < FDSTORE_MAX; i++) {
		snprintf(name, sizeof(name), "%u", i);
		CHECK_OK(fdstore_put(&store, name, dup(STDERR_FILENO), &err));
	}
	fd = dup(STDERR_FILENO);
	CHECK_FAILS(fdstore_put(&store, "more", fd, &err), -ENOSPC, "there are 2048 descriptors already");
	assert_int_equal(fcntl(fd, F_GETFD), -1); /* closed */
	CHECK_OK(fdstore_put(&store, "0", dup(STDERR_FILENO), &err));
	fd = fdstore_take(&store, "1");
	assert_true(fd >= 0);
	assert_false(fdstore_has(&store, "1"));
	close(fd);
	fdstore_clear(&store, "2");
	assert_int_equal(store.count, 1);
	assert_true(fdstore_has(&store, "2"));
	fdstore_clear(&store, NULL);
}

static void letters(void **state)
{
	struct outbox outbox = { 0 };
	int pair[2];
	char text[LINE];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	CHECK_OK(outbox_send(&outbox, pair[0], &err));
	for (uint32_t i = 0; i < 2000; i++)
		CHECK_OK(outbox_add(&outbox, SUPERVISOR_GONE, i, NULL, -1, &err));
	CHECK_FAILS(outbox_send(&outbox, pair[0], &err), -EAGAIN, "cannot send"); /* there is no more room */
	assert_true(outbox_has(&outbox, SUPERVISOR_GONE, 1999));
	assert_false(outbox_has(&outbox, SUPERVISOR_GONE, 0));
	for (uint32_t i = 0; i < 2000; i++) {
		if (!outbox_is_empty(&outbox))
			(void)!outbox_send(&outbox, pair[0], NULL);
		assert_int_equal(recv(pair[1], text, sizeof(text), 0), sizeof(struct supervisor_message));
		assert_int_equal(((struct supervisor_message *)(void *)text)->number, i);
	}
	assert_true(outbox_is_empty(&outbox));
	close(pair[1]);
	CHECK_OK(outbox_add(&outbox, SUPERVISOR_GONE, 1, NULL, -1, &err));
	CHECK_FAILS(outbox_send(&outbox, pair[0], &err), -EPIPE, "cannot send");
	assert_true(outbox_is_empty(&outbox));
	close(pair[0]);
}

/* A first thread that has ended while another has not: waitpid() says nothing, /proc does. */
static void endings(void **state)
{
	char text[ENDING_TEXT_SIZE];
	pthread_t other;
	pid_t child = fork();

	if (child == 0) {
		pthread_create(&other, NULL, sleep_for_ever, NULL);
		syscall(SYS_exit, 7);
	}
	while (ending_of(child) == ENDING_UNKNOWN)
		usleep(1000);
	assert_true(ending_is_exit(ending_of(child)));
	assert_string_equal(ending_text(ending_of(child), text), "has ended with status 7");
	assert_int_equal(waitpid(child, NULL, WNOHANG), 0);
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_equal(ending_of(child), ENDING_UNKNOWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pauses), cmocka_unit_test(full_store), cmocka_unit_test(letters),
		cmocka_unit_test(endings), cmocka_unit_test(without_supervisor), cmocka_unit_test(kept_descriptors),
		cmocka_unit_test(many_servers), cmocka_unit_test(many_descriptors), cmocka_unit_test(signals),
		cmocka_unit_test(left_descriptors), cmocka_unit_test(servers_that_die), cmocka_unit_test(half_dead),
		cmocka_unit_test(crashing), cmocka_unit_test(exit_statuses), cmocka_unit_test(killed_without_a_mount),
		cmocka_unit_test(killed_at_its_end), cmocka_unit_test(never_ready), cmocka_unit_test(refuses),
		cmocka_unit_test(signal_without_server), cmocka_unit_test(unmounted_without_server),
		cmocka_unit_test(silent), cmocka_unit_test(ends_but_for_a_thread),
		cmocka_unit_test(supervisor_is_killed), cmocka_unit_test(upgraded), cmocka_unit_test(not_upgraded),
		cmocka_unit_test(upgrade_hangs), cmocka_unit_test(upgrade_is_undone),
		cmocka_unit_test(upgrade_is_cut_off), cmocka_unit_test(notifications)
	};

	if (getenv(SUPERVISOR_VARIABLE))
		return serve();
	signal(SIGHUP, SIG_DFL); /* nohup(1) has it ignored, and the supervisor leaves it so */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
