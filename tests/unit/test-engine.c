/* SPDX-License-Identifier: MIT */
/* Rings that several threads make, read by and free at once, as the queues of libdatasetfs do: a ring is mapped where
 * another thread's was, and a folder gets the number of its descriptor. */
#include <dirent.h>
#include <pthread.h>
#include <sys/mman.h>
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

	(void)state;
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

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_rings_of_threads) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
