/* SPDX-License-Identifier: MIT */
/* Rings that several threads make, read by and free at once, as the queues of libdatasetfs do: a ring is mapped where
 * another thread's was, and a folder gets the number of its descriptor. And a ring that can make no thread. */
#include <dirent.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io/engine.h"
#include "lib/check.h"

#define THREADS 4
#define RINGS   250
#define SIZE    4096

static void read_done(struct io_read *read, int result)
{
	read->result = result;
	read->member = UINT32_MAX; /* done */
}

/* Makes a ring, reads the file once and frees the ring. */
static int read_by_ring(const struct engine_setup *setup, uint8_t *memory)
{
	struct io_read read = { .iov = { { memory, SIZE } }, .iov_count = 1, .done = read_done };
	struct engine *engine;
	struct error error;
	bool readable;
	int r = ring_new(setup, &engine, &error);

	if (r < 0)
		return r;
	engine_read(engine, &read);
	while (r == 0 && read.member != UINT32_MAX)
		r = engine_wait(engine, true, &readable, &error);
	engine_free(engine);
	return r < 0 ? r : read.result;
}

static bool look_at_a_folder(void)
{
	DIR *folder = opendir("/");

	return folder && readdir(folder) && closedir(folder) == 0;
}

static void *read_by_rings(void *argument)
{
	const struct engine_setup *setup = argument;
	uint8_t memory[SIZE];
	size_t right = 0;

	for (unsigned i = 0; i < RINGS; i++) {
		memset(memory, 0, sizeof(memory));
		right += read_by_ring(setup, memory) == SIZE && memory[SIZE - 1] == 'x' && look_at_a_folder();
	}
	return (void *)right;
}

static void test_rings_of_threads(void **state)
{
	uint8_t memory[SIZE];
	int file = memfd_create("volume", MFD_CLOEXEC);
	struct engine_setup setup = {
		.poll_fd = -1, .wake = -1, .volume_fds = &file, .member_count = 1, .depth = 8,
	};
	pthread_t threads[THREADS];
	struct engine *engine;
	struct error error;
	void *right;

	if (ring_new(&setup, &engine, &error) < 0)
		skip(); /* the kernel refuses io_uring */
	engine_free(engine);
	memset(memory, 'x', sizeof(memory));
	assert_int_equal(pwrite(file, memory, sizeof(memory), 0), sizeof(memory));
	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, read_by_rings, &setup), 0);
	for (unsigned i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(threads[i], &right), 0);
		assert_int_equal((size_t)right, RINGS);
	}
	close(file);
}

/* A user who may have no more tasks: the kernel reads a file in memory by a thread, and cancels the read if it cannot
 * make one. Root has no such limit. */
static int read_without_threads(const struct engine_setup *setup)
{
	const struct rlimit limit = { 1, 1 };
	uint8_t memory[SIZE] = { 0 };
	int r;

	if ((geteuid() == 0 && setresuid(65534, 65534, 65534) < 0) || setrlimit(RLIMIT_NPROC, &limit) < 0)
		return 1;
	r = read_by_ring(setup, memory);
	if (r != SIZE || memory[SIZE - 1] != 'x')
		print_error("the read gave %d\n", r);
	return r != SIZE || memory[SIZE - 1] != 'x';
}

static void test_a_ring_without_threads(void **state)
{
	int file = memfd_create("volume", MFD_CLOEXEC), status;
	struct engine_setup setup = {
		.poll_fd = -1, .wake = -1, .volume_fds = &file, .member_count = 1, .depth = 8,
	};
	struct engine *engine;
	struct error error;
	uint8_t memory[SIZE];
	pid_t child;

	if (ring_new(&setup, &engine, &error) < 0)
		skip();
	engine_free(engine);
	memset(memory, 'x', sizeof(memory));
	assert_int_equal(pwrite(file, memory, sizeof(memory), 0), sizeof(memory));
	child = fork();
	if (child == 0)
		_exit(read_without_threads(&setup));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	close(file);
}

CHECK_MAIN(cmocka_unit_test(test_rings_of_threads), cmocka_unit_test(test_a_ring_without_threads))
