/* SPDX-License-Identifier: MIT */
/* Forks while threads read: children go on with the handle that they inherited, and so does the parent.
 * usage: library-forks VOLUME SOURCE CHILDREN */
#include "files.h"
#include "forking.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define READERS 3u

static struct dsfs *fs;
static struct files files;
static _Atomic bool stopping;
static _Atomic unsigned reading; /* threads that have begun */

static void read_one(struct dsfs *handle, uint64_t *seed)
{
	const struct file *file = &files.items[files_random(seed, files.count)];
	struct dsfs_read read = { .id = file->id, .size = file->size, .buffer = malloc(file->size + 1) };
	int64_t id;

	read.result = dsfs_pread(handle, file->id, read.buffer, file->size, 0);
	files_check(file, &read);
	free(read.buffer);
	if (dsfs_lookup(handle, (const char *const[]){ file->path }, 1, &id) != 0 || (uint64_t)id != file->id)
		FAIL("lookup of '%s' in process %d", file->path, getpid());
}

static void *reader_main(void *argument)
{
	uint64_t seed = (uintptr_t)argument + 1;
	struct dsfs_arena *arena;
	bool is_first = true;

	if (dsfs_arena_new(&arena) != 0)
		FAIL("an arena");
	while (!atomic_load(&stopping)) {
		forking_read();
		files_read_batch(&files, fs, arena, &seed);
		read_one(fs, &seed);
		forking_unlock();
		if (is_first)
			atomic_fetch_add(&reading, 1);
		is_first = false;
	}
	dsfs_arena_free(arena);
	return NULL;
}

/* number odd: a clone that no handler of fork(2) hears of. In such a child fork(2) itself may wait for ever, for a lock
 * of malloc(3) that a thread of the parent held. */
static pid_t make_child(unsigned number)
{
	pid_t pid;

	forking_begin();
	pid = number % 2 ? (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL) : fork();
	forking_end(pid);
	return pid;
}

/* The bytes that the parent has read stay as they are for both, though both go on with the same arena. */
static void child_main(unsigned number, struct dsfs_arena *inherited, const struct file *file,
		       const struct dsfs_read *read)
{
	uint64_t seed = number + 100;
	struct dsfs *other;

	files_check(file, read);
	for (unsigned i = 0; i < 5; i++) {
		files_read_batch(&files, fs, inherited, &seed);
		read_one(fs, &seed);
	}
	files_check(file, read);
	if (number % 3 == 0) { /* one of its own as well, and none of the parent's */
		if (dsfs_open(NULL, NULL, &other) != -EINVAL)
			FAIL("a handle of nothing");
		dsfs_arena_free(inherited);
		dsfs_close(fs);
	}
	if (number % 3 == 1) { /* a child of the child */
		pid_t pid = make_child(number);
		int status;

		if (pid == 0) {
			files_read_batch(&files, fs, inherited, &seed);
			_exit(0);
		}
		files_read_batch(&files, fs, inherited, &seed);
		if (waitpid(pid, &status, 0) != pid || status != 0)
			FAIL("the child's child: status %#x", status);
	}
	_exit(0);
}

static void run_children(unsigned count, struct dsfs_arena *arena)
{
	const struct file *file = &files.items[files.count / 2];
	struct dsfs_read read = { .id = file->id, .size = UINT64_MAX };
	pid_t children[256];
	int status;

	if (dsfs_read_many(fs, &read, 1, arena) != 0)
		FAIL("read");
	for (unsigned i = 0; i < count; i++) {
		children[i] = make_child(i);
		if (children[i] == 0)
			child_main(i, arena, file, &read);
		if (children[i] < 0)
			FAIL("fork");
	}
	for (unsigned i = 0; i < count; i++)
		if (waitpid(children[i], &status, 0) != children[i] || status != 0)
			FAIL("child %u: status %#x", i, status);
	files_check(file, &read);
}

/* A program that is executed gets the three standard descriptors, and no other of ours. */
static void run_program(void)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		execl("/bin/sh", "sh", "-c", "for fd in /proc/$$/fd/*; do readlink $fd; done | grep -E 'io_uring|memfd|"
		      "volume' && exit 1; exit 0", NULL);
		_exit(127);
	}
	if (waitpid(pid, &status, 0) != pid || status != 0)
		FAIL("the program: status %#x", status);
}

int main(int argc, char **argv)
{
	pthread_t threads[READERS];
	struct dsfs_arena *arena;
	uint64_t seed = 1;

	if (argc != 4)
		return 2;
	fs = files_open(argv[1]);
	files_find(fs, argv[2], &files);
	if (dsfs_arena_new(&arena) != 0)
		FAIL("an arena");
	for (uintptr_t i = 0; i < READERS; i++)
		if (pthread_create(&threads[i], NULL, reader_main, (void *)i) != 0)
			FAIL("a thread");
	while (atomic_load(&reading) < READERS)
		usleep(1000);
	run_children((unsigned)atoi(argv[3]), arena);
	run_program();
	files_read_batch(&files, fs, arena, &seed);
	atomic_store(&stopping, true);
	for (unsigned i = 0; i < READERS; i++)
		pthread_join(threads[i], NULL);
	dsfs_arena_free(arena);
	dsfs_close(fs);
	files_free(&files);
	return 0;
}
