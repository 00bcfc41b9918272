/* SPDX-License-Identifier: MIT */
/* A child that answers, one that hangs and is killed, and what it has of its parent. */
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/program/child.h"
#include "lib/check.h"

/* Waits as long as it takes: a child that stays is for the limit of the test. */
static void wait_gone(struct child *child)
{
	while (!child_is_gone(child))
		poll(NULL, 0, 1);
	assert_int_equal(child->process, 0);
	assert_true(child_is_gone(child));
}

/* Sends back each message with the given byte in front, until there are no more. */
static void echo(const void *argument, int fd)
{
	char message[16];
	ssize_t n;

	message[0] = *(const char *)argument;
	while ((n = read(fd, message + 1, sizeof(message) - 1)) > 0)
		if (write(fd, message, (size_t)n + 1) != n + 1)
			return;
}

static void test_answers(void **state)
{
	struct child child = CHILD_NONE;
	char answer[16];

	CHECK_OK(child_start(&child, echo, "!", &err));
	assert_int_equal(write(child.fd, "one", 3), 3);
	assert_int_equal(read(child.fd, answer, sizeof(answer)), 4);
	assert_memory_equal(answer, "!one", 4);
	assert_int_equal(write(child.fd, "a", 1), 1);
	assert_int_equal(write(child.fd, "bc", 2), 2);
	assert_int_equal(read(child.fd, answer, sizeof(answer)), 2); /* messages stay apart */
	assert_int_equal(read(child.fd, answer, sizeof(answer)), 3);
	assert_false(child_is_gone(&child));
	assert_int_equal(shutdown(child.fd, SHUT_WR), 0); /* its input ends, and so does it */
	assert_int_equal(read(child.fd, answer, sizeof(answer)), 0);
	wait_gone(&child);
	child_kill(&child, 0);
	assert_int_equal(child.fd, -1);
}

/* Answers once, and then never. */
static void hang(const void *argument, int fd)
{
	if (write(fd, "x", 1) == 1)
		for (;;)
			pause();
}

static void test_killed(void **state)
{
	struct child child = CHILD_NONE;
	char answer;

	CHECK_OK(child_start(&child, hang, NULL, &err));
	assert_int_equal(read(child.fd, &answer, 1), 1);
	assert_false(child_is_gone(&child));
	child_kill(&child, 0);
	assert_int_equal(child.fd, -1);
	wait_gone(&child);
	child_kill(&child, 0);
}

/* With SIGCHLD ignored, the kernel forgets processes by itself. */
static void test_unwaited(void **state)
{
	struct child child = CHILD_NONE;
	char answer;

	signal(SIGCHLD, SIG_IGN);
	CHECK_OK(child_start(&child, hang, NULL, &err));
	assert_int_equal(read(child.fd, &answer, 1), 1);
	child_kill(&child, clock_now() + INT64_C(3600000000000));
	wait_gone(&child);
	signal(SIGCHLD, SIG_DFL);
}

struct surroundings {
	pid_t session, process;
	char directory[PATH_MAX];
	int most; /* the highest number of a descriptor that is open, of the first hundred */
};

static void look_around(const void *argument, int fd)
{
	struct surroundings seen = { .session = getsid(0), .process = getpid() };

	if (!getcwd(seen.directory, sizeof(seen.directory)))
		return;
	for (int i = 0; i < 100; i++)
		if (fcntl(i, F_GETFD) >= 0)
			seen.most = i;
	(void)!write(fd, &seen, sizeof(seen));
}

static void test_surroundings(void **state)
{
	struct child child = CHILD_NONE;
	struct surroundings seen;

	CHECK_OK(child_start(&child, look_around, NULL, &err));
	assert_int_equal(read(child.fd, &seen, sizeof(seen)), sizeof(seen));
	assert_int_equal(seen.process, child.process);
	assert_int_equal(seen.session, seen.process);
	assert_string_equal(seen.directory, "/");
	if (close_range(UINT_MAX, UINT_MAX, 0) == 0) /* Linux 5.9 */
		assert_int_equal(seen.most, STDERR_FILENO);
	child_kill(&child, 0);
	wait_gone(&child);
}

CHECK_MAIN(cmocka_unit_test(test_answers), cmocka_unit_test(test_killed), cmocka_unit_test(test_unwaited),
	   cmocka_unit_test(test_surroundings))
