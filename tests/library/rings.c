/* SPDX-License-Identifier: MIT */
/* A program takes the io_uring from under the library while reads are under way: they all come, and others after them.
 * usage: library-rings refused|closed VOLUME SOURCE ROUNDS
 *   refused: a seccomp filter that was installed late refuses io_uring_enter(2)
 *   closed:  the descriptor of the ring leads to something else
 * Each round is a child, which does it to a queue, and then another one, which does it to threads in the middle of
 * their calls. Exit status: 0; 77 and why when this cannot be tested; 1 and the reason. */
#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define READS       64u
#define READERS     3u
#define DESCRIPTORS 4096 /* that are looked at */

struct waiting {
	const struct file *file;
	struct dsfs_read read;
};

static struct dsfs *fs;
static struct files files;
static _Atomic bool stopping;
static _Atomic unsigned reading; /* threads that have begun */

/* --- what is done to rings --- */

/* All threads. Both return how many rings are gone, as far as that is to be known. */
static unsigned refuse(void)
{
	struct sock_filter steps[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_enter, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = sizeof(steps) / sizeof(*steps), .filter = steps };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) != 0) {
		printf("seccomp: %s\n", strerror(errno));
		exit(77);
	}
	return 1;
}

static bool leads_to(int fd, const char *expected)
{
	char path[32], target[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	n = readlink(path, target, sizeof(target) - 1);
	target[n < 0 ? 0 : n] = 0;
	return !strcmp(target, expected);
}

static unsigned close_rings(void)
{
	int other = open("/dev/null", O_RDWR);
	unsigned count = 0;

	for (int fd = 3; fd < DESCRIPTORS; fd++)
		if (leads_to(fd, "anon_inode:[io_uring]") && dup2(other, fd) == fd)
			count++;
	close(other);
	return count;
}

/* --- a queue --- */

static void submit(struct dsfs_queue *queue, struct waiting *waiting, uint64_t *seed)
{
	for (unsigned i = 0; i < READS; i++) {
		const struct file *file = &files.items[files_random(seed, files.count)];

		waiting[i].file = file;
		waiting[i].read = (struct dsfs_read){ .id = file->id, .size = file->size, .user = &waiting[i],
						      .buffer = malloc(file->size + 1) };
		if (dsfs_queue_submit(queue, &waiting[i].read, 1) != 0)
			FAIL("submit");
	}
}

static void collect(struct dsfs_queue *queue, unsigned count)
{
	struct dsfs_read *done[READS];

	while (count) {
		int n = dsfs_queue_wait(queue, 1, done, count, -1);

		if (n <= 0)
			FAIL("wait while %u reads are to come: %d", count, n);
		for (int i = 0; i < n; i++) {
			files_check(((struct waiting *)done[i]->user)->file, done[i]);
			free(done[i]->buffer);
		}
		count -= (unsigned)n;
	}
}

static void run_queue(unsigned (*take)(void), uint64_t seed)
{
	struct waiting waiting[READS];
	struct dsfs_queue *queue;

	if (dsfs_queue_new(fs, seed % 3 ? 0 : 1, &queue) != 0)
		FAIL("a queue");
	submit(queue, waiting, &seed);
	if (!take()) {
		printf("there is no io_uring\n");
		exit(77);
	}
	collect(queue, READS);
	submit(queue, waiting, &seed);
	collect(queue, READS);
	submit(queue, waiting, &seed);
	dsfs_queue_free(queue);
	for (unsigned i = 0; i < READS; i++) {
		files_check(waiting[i].file, &waiting[i].read);
		free(waiting[i].read.buffer);
	}
}

/* --- threads --- */

static void *reader_main(void *argument)
{
	uint64_t seed = (uintptr_t)argument;
	struct dsfs_arena *arena;

	if (dsfs_arena_new(&arena) != 0)
		FAIL("an arena");
	for (unsigned i = 0; i < 4 || !atomic_load(&stopping); i++) {
		files_read_batch(&files, fs, arena, &seed);
		atomic_fetch_add(&reading, i == 0);
	}
	files_read_batch(&files, fs, arena, &seed);
	dsfs_arena_free(arena);
	return NULL;
}

static void run_threads(unsigned (*take)(void), uint64_t seed)
{
	pthread_t threads[READERS];

	for (uintptr_t i = 0; i < READERS; i++)
		if (pthread_create(&threads[i], NULL, reader_main, (void *)(seed * READERS + i + 1)) != 0)
			FAIL("a thread");
	while (atomic_load(&reading) < READERS)
		usleep(100);
	for (unsigned i = 0; i < 10; i++) {
		take();
		usleep(500);
	}
	atomic_store(&stopping, true);
	for (unsigned i = 0; i < READERS; i++)
		pthread_join(threads[i], NULL);
}

/* --- rounds --- */

static int in_child(void (*run)(unsigned (*take)(void), uint64_t seed), unsigned (*take)(void), uint64_t seed)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		run(take, seed);
		dsfs_close(fs);
		_exit(0); /* what it inherited and left alone is no leak */
	}
	if (child < 0 || waitpid(child, &status, 0) != child)
		FAIL("fork");
	if (WIFSIGNALED(status))
		FAIL("round %llu ended by signal %d", (unsigned long long)seed, WTERMSIG(status));
	return WEXITSTATUS(status);
}

int main(int argc, char **argv)
{
	unsigned (*take)(void) = argc == 5 && !strcmp(argv[1], "refused") ? refuse : close_rings;
	int status = 0;

	if (argc != 5)
		return 2;
	fs = files_open(argv[2]);
	files_find(fs, argv[3], &files);
	for (int i = 1; status == 0 && i <= atoi(argv[4]); i++) {
		status = in_child(run_queue, take, (uint64_t)i);
		if (status == 0)
			status = in_child(run_threads, take, (uint64_t)i);
	}
	dsfs_close(fs);
	files_free(&files);
	return status;
}
