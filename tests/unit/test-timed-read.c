/* SPDX-License-Identifier: MIT */
/* Reads that do not come back: nobody waits for them, or for the file again until they do. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io/file.h"
#include "io/outstanding.h"
#include "io/read_probe.h"
#include "io/timed_read.h"
#include "lib/check.h"

#define LONG  INT64_C(100000000000) /* ns: longer than any machine is busy */
#define SHORT INT64_C(20000000)

static sem_t gate; /* which a read of hanging() waits for */

static struct outstanding *released;

static void release(struct outstanding *read)
{
	released = read;
}

static int hanging(int fd, uint64_t offset, uint8_t *buffer, size_t length, struct error *error)
{
	sem_wait(&gate);
	return pread(fd, buffer, length, (off_t)offset) == (ssize_t)length ? 0 : -EIO;
}

static int prompt(int fd, uint64_t offset, uint8_t *buffer, size_t length, struct error *error)
{
	ssize_t n = pread(fd, buffer, length, (off_t)offset);

	return n == (ssize_t)length ? 0 : error_set(error, -ENODATA, "ends after %zd", n);
}

/* A file of so many bytes, each of which says where it is. */
static int make_file(size_t length)
{
	char name[] = "/tmp/test-timed-read.XXXXXX";
	uint8_t *bytes = malloc(length);
	int fd = mkstemp(name);

	for (size_t i = 0; i < length; i++)
		bytes[i] = (uint8_t)(i % 251);
	assert_int_equal(write(fd, bytes, length), length);
	free(bytes);
	unlink(name);
	return fd;
}

static void test_a_read_comes_back(void **state)
{
	size_t length = 9000007; /* in more than one piece */
	uint8_t *buffer = malloc(length);
	int fd = make_file(length);
	const struct timed_read_setup setup = { prompt, fd, LONG };

	CHECK_OK(timed_read(&setup, 5, buffer, length - 5, &err));
	for (size_t i = 0; i < length - 5; i++)
		if (buffer[i] != (i + 5) % 251)
			fail_msg("byte %zu is %u", i, buffer[i]);
	CHECK_FAILS(timed_read(&setup, 5, buffer, length, &err), -ENODATA, "ends after 611394");
	close(fd);
	free(buffer);
}

static void test_a_read_is_left(void **state)
{
	int fd = make_file(4096), other = make_file(4096), again = dup(fd);
	const struct timed_read_setup first = { hanging, fd, SHORT }, second = { prompt, again, LONG };
	const struct timed_read_setup elsewhere = { prompt, other, LONG };
	uint8_t bytes[100], before[100];

	memset(bytes, 0xee, sizeof(bytes));
	memcpy(before, bytes, sizeof(bytes));
	CHECK_FAILS(timed_read(&first, 0, bytes, sizeof(bytes), &err), -ETIMEDOUT,
		    "no answer to a read for 0.02 seconds");
	CHECK_FAILS(timed_read(&second, 0, bytes, sizeof(bytes), &err), -ETIMEDOUT,
		    "an earlier read has not been answered yet");
	CHECK_OK(timed_read(&elsewhere, 0, before, sizeof(before), &err));
	close(fd); /* the read has its own */
	sem_post(&gate);
	while (timed_read(&second, 1, before, sizeof(before), NULL) == -ETIMEDOUT)
		poll(NULL, 0, 1);
	assert_int_equal(before[1], 2);
	for (size_t i = 0; i < sizeof(bytes); i++)
		assert_int_equal(bytes[i], 0xee); /* nobody wrote to what the caller has back */
	close(again);
	close(other);
}

/* A child has none of the reads that its parent has abandoned, and would never see them come back. */
static void test_a_child_begins_anew(void **state)
{
	struct outstanding read;
	uint8_t byte;
	int fd = make_file(1), status;
	const struct timed_read_setup setup = { hanging, fd, SHORT };
	pid_t child;

	CHECK_FAILS(timed_read(&setup, 0, &byte, 1, &err), -ETIMEDOUT, "no answer");
	child = fork();
	if (child == 0)
		_exit(outstanding_begin(OUTSTANDING_READ, fd, NULL, &read, NULL) == 0 ? 7 : 1);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(WEXITSTATUS(status), 7);
	assert_int_equal(outstanding_begin(OUTSTANDING_READ, fd, NULL, &read, NULL), -ETIMEDOUT);
	CHECK_OK(outstanding_begin(OUTSTANDING_PROBE, fd, NULL, &read, &err)); /* another kind */
	sem_post(&gate);
	while (outstanding_begin(OUTSTANDING_READ, fd, NULL, &read, NULL) == -ETIMEDOUT)
		poll(NULL, 0, 1);
	close(fd);
}

/* Nobody tells of the end of some reads: the next one at any file finds it. */
static void test_a_read_ends_unseen(void **state)
{
	struct outstanding read = { 0 }, next;
	int fd = make_file(1);

	CHECK_OK(outstanding_begin(OUTSTANDING_PROBE, fd, release, &read, &err));
	CHECK_FAILS(outstanding_wait(&read, SHORT, &err), -ETIMEDOUT, "no answer to a read for 0.02 seconds");
	CHECK_FAILS(outstanding_begin(OUTSTANDING_PROBE, fd, release, &next, &err), -ETIMEDOUT, "an earlier read");
	assert_null(released);
	__atomic_store_n(&read.runs, 0, __ATOMIC_RELEASE);
	CHECK_OK(outstanding_begin(OUTSTANDING_PROBE, fd, release, &next, &err));
	assert_ptr_equal(released, &read);
	close(fd);
}

/* Only who must not wait asks for it. */
static void test_a_file_has_a_limit(void **state)
{
	struct file_source *file;
	uint8_t block[512];
	int fd = make_file(8192);
	const struct timed_read_setup setup = { hanging, fd, SHORT };
	char name[64];

	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	CHECK_OK(file_adopt(open(name, O_RDONLY | O_CLOEXEC), &file, &err));
	assert_int_equal(file->patience, 0);
	CHECK_FAILS(timed_read(&setup, 0, block, sizeof(block), &err), -ETIMEDOUT, "no answer");
	CHECK_OK(source_read(&file->source, 0, 1000, block, sizeof(block), &err));
	file->patience = LONG;
	CHECK_FAILS(source_read(&file->source, 0, 1000, block, sizeof(block), &err), -ETIMEDOUT,
		    "an earlier read has not been answered yet");
	sem_post(&gate);
	while (source_read(&file->source, 0, 1001, block, sizeof(block), NULL) == -ETIMEDOUT)
		poll(NULL, 0, 1);
	assert_int_equal(block[0], 1001 % 251);
	file_close(file);
	close(fd);
}

static void test_a_file_answers(void **state)
{
	struct read_probe *probe = NULL;
	int fd = make_file(8192), before = open("/dev/null", O_RDONLY);

	errno = 0;
	for (unsigned i = 0; i < 20; i++) {
		CHECK_OK(read_probe_begin(fd, &probe, &err));
		CHECK_OK(read_probe_end(probe, LONG, &err));
	}
	/* The process that reads has left it alone; this thread's futex says EAGAIN if the read had ended before. */
	assert_true(errno == 0 || errno == EAGAIN);
	assert_true(fcntl(before, F_GETFD) >= 0); /* what it closed was its own */
	close(before);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_read_comes_back), cmocka_unit_test(test_a_read_is_left),
		cmocka_unit_test(test_a_child_begins_anew), cmocka_unit_test(test_a_read_ends_unseen),
		cmocka_unit_test(test_a_file_has_a_limit), cmocka_unit_test(test_a_file_answers)
	};

	sem_init(&gate, 0, 0);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
