/* SPDX-License-Identifier: MIT */
/* A member of a mirrored volume does not answer for a while, again and again, under threads that read in every way: all
 * reads are right and go on, memory that the program got back stays as it is when the device answers late, the handle
 * is closed meanwhile, and nothing is left in the end.
 * usage: library-stuck VOLUME SOURCE CONTROL WORD CYCLES [closed]
 *   closed: the program closes rings that the device has reads of, before it closes the handle
 *   CONTROL: the file that controls the member's device (tests/lib/slowfs.c); WORD: what it says while it answers
 * Exit status: 0; 77 without io_uring; 1 and the reason. */
#include "files.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define READS   16u
#define RUN     64u
#define STEPS   6u /* of every thread while the member hangs */
#define LIMIT   240 /* s, for what takes one: the machine may have other work */
#define KEPT    64u
#define PATTERN 0xa5
#define DESCRIPTORS 4096 /* that are looked at */
#define ROOM    ((size_t)64 << 20)

struct reader {
	pthread_t thread;
	void (*step)(struct reader *reader);
	uint64_t seed;
	_Atomic unsigned steps;
	struct dsfs_arena *arena;
	struct dsfs_queue *queue;
	/* The last step's; with a count they lie in the arena. */
	const struct file *files[RUN];
	struct dsfs_read reads[RUN];
	unsigned count;
	/* Buffers that were read into, and are the program's again. */
	uint8_t *kept[KEPT];
	size_t kept_size[KEPT];
	unsigned next;
};

static struct dsfs *fs;
static struct files files;
static const char *control, *word;
static pthread_barrier_t barrier;
static _Atomic bool rests, ends;

static void say(const char *what)
{
	FILE *file = fopen(control, "w");

	if (!file || fprintf(file, "%s\n", what) < 0 || fclose(file) != 0)
		FAIL("cannot write '%s'", control);
}

/* The kernel lets no process end whose thread is in a read of a device that hangs. */
static void answer(void)
{
	int fd = open(control, O_WRONLY | O_TRUNC);

	if (fd < 0 || write(fd, word, strlen(word)) < 0)
		_exit(3);
	close(fd);
}

static void too_late(int signal)
{
	static const char why[] = "somebody waits for the member that hangs\n";

	(void)signal;
	if (write(STDERR_FILENO, why, sizeof(why) - 1) < 0)
		_exit(3);
	answer();
	_exit(1);
}

static void wait_a_while(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 300 * 1000 * 1000 }, NULL);
}

/* --- memory of the program --- */

static void check_pattern(const uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (bytes[i] != PATTERN)
			FAIL("memory was written to after it was given back, at %zu of %zu", i, size);
}

static uint8_t *get_memory(size_t *size)
{
	void *bytes;

	*size = (*size + 8191) / 4096 * 4096;
	if (posix_memalign(&bytes, 4096, *size) != 0)
		FAIL("no memory");
	return bytes;
}

static void keep(struct reader *reader, uint8_t *bytes, size_t size)
{
	unsigned at = reader->next++ % KEPT;

	if (reader->kept[at])
		check_pattern(reader->kept[at], reader->kept_size[at]);
	free(reader->kept[at]);
	memset(bytes, PATTERN, size);
	reader->kept[at] = bytes;
	reader->kept_size[at] = size;
}

static void check_memory(const struct reader *reader)
{
	for (unsigned i = 0; i < KEPT; i++)
		if (reader->kept[i])
			check_pattern(reader->kept[i], reader->kept_size[i]);
	for (unsigned i = 0; i < reader->count; i++)
		files_check(reader->files[i], &reader->reads[i]);
}

/* --- ways to read --- */

static const struct file *any_file(struct reader *reader, uint64_t least)
{
	const struct file *file;

	do
		file = &files.items[files_random(&reader->seed, files.count)];
	while (file->size < least);
	return file;
}

static void one(struct reader *reader, uint64_t least)
{
	const struct file *file = any_file(reader, least);
	struct dsfs_read read = { .id = file->id };
	size_t size = file->size;

	read.buffer = get_memory(&size);
	read.size = size;
	read.result = dsfs_pread(fs, file->id, read.buffer, size, 0);
	files_check(file, &read);
	keep(reader, read.buffer, size);
}

static void step_one(struct reader *reader)
{
	one(reader, 0);
}

static void step_large(struct reader *reader)
{
	one(reader, 2000000);
}

static void read_to_arena(struct reader *reader, unsigned count)
{
	reader->count = count;
	dsfs_arena_reset(reader->arena);
	for (unsigned i = 0; i < count; i++)
		reader->reads[i] = (struct dsfs_read){ .id = reader->files[i]->id, .size = UINT64_MAX };
	if (dsfs_read_many(fs, reader->reads, count, reader->arena) != 0)
		FAIL("read_many");
	for (unsigned i = 0; i < count; i++)
		files_check(reader->files[i], &reader->reads[i]);
}

static void step_any(struct reader *reader)
{
	for (unsigned i = 0; i < READS; i++)
		reader->files[i] = any_file(reader, 0);
	read_to_arena(reader, READS);
}

static void step_large_any(struct reader *reader)
{
	for (unsigned i = 0; i < 4; i++)
		reader->files[i] = any_file(reader, 2000000);
	read_to_arena(reader, 4);
}

/* Neighbours, which are read as one. */
static void choose_run(struct reader *reader)
{
	uint64_t first = files_random(&reader->seed, files.count - RUN);

	for (unsigned i = 0; i < RUN; i++)
		reader->files[i] = &files.items[first + i];
}

static void step_run(struct reader *reader)
{
	choose_run(reader);
	read_to_arena(reader, RUN);
}

/* Reads the chosen files by the queue, with so many a submit. */
static void read_by_queue(struct reader *reader, unsigned count, unsigned together)
{
	struct dsfs_read reads[RUN], *done[RUN];
	size_t sizes[RUN];

	for (unsigned i = 0; i < count; i++) {
		sizes[i] = reader->files[i]->size;
		reads[i] = (struct dsfs_read){ .id = reader->files[i]->id, .buffer = get_memory(&sizes[i]) };
		reads[i].size = sizes[i];
	}
	for (unsigned i = 0; i < count; i += together)
		if (dsfs_queue_submit(reader->queue, &reads[i], together) != 0)
			FAIL("submit");
	if (dsfs_queue_wait(reader->queue, count, done, count, -1) != (int)count)
		FAIL("wait");
	for (unsigned i = 0; i < count; i++) {
		files_check(reader->files[i], &reads[i]);
		keep(reader, reads[i].buffer, sizes[i]);
	}
}

static void step_queue(struct reader *reader)
{
	for (unsigned i = 0; i < READS; i++)
		reader->files[i] = any_file(reader, 0);
	read_by_queue(reader, READS, 1);
}

static void step_queue_run(struct reader *reader)
{
	choose_run(reader);
	read_by_queue(reader, RUN, RUN);
}

static struct reader readers[] = {
	{ .step = step_one },       { .step = step_one }, { .step = step_large }, { .step = step_any },
	{ .step = step_large_any }, { .step = step_run }, { .step = step_queue },
	{ .step = step_queue_run },
};
#define READERS (sizeof(readers) / sizeof(*readers))

static void *reader_main(void *argument)
{
	struct reader *reader = argument;

	while (!atomic_load(&ends)) {
		reader->step(reader);
		atomic_fetch_add(&reader->steps, 1);
		if (!atomic_load(&rests))
			continue;
		pthread_barrier_wait(&barrier);
		pthread_barrier_wait(&barrier); /* the device has answered */
		check_memory(reader);
		pthread_barrier_wait(&barrier);
	}
	dsfs_queue_free(reader->queue);
	return NULL;
}

static void reader_start(struct reader *reader)
{
	if (dsfs_arena_new(&reader->arena) != 0 || dsfs_queue_new(fs, 0, &reader->queue) != 0 ||
	    pthread_create(&reader->thread, NULL, reader_main, reader) != 0)
		FAIL("a thread");
}

static void reader_free(struct reader *reader)
{
	dsfs_arena_free(reader->arena);
	for (unsigned i = 0; i < KEPT; i++)
		free(reader->kept[i]);
}

/* --- the member --- */

/* Everybody goes on. */
static void wait_for_steps(void)
{
	unsigned before[READERS];

	for (unsigned i = 0; i < READERS; i++)
		before[i] = atomic_load(&readers[i].steps);
	alarm(LIMIT);
	for (unsigned i = 0; i < READERS; i++)
		while (atomic_load(&readers[i].steps) - before[i] < STEPS)
			nanosleep(&(struct timespec){ .tv_nsec = 10 * 1000 * 1000 }, NULL);
	alarm(0);
}

static void hang(void)
{
	say("hang");
	wait_a_while();
	wait_for_steps();
}

static void heal(void)
{
	say(word);
	wait_a_while();
}

static void cycle(void)
{
	hang();
	atomic_store(&rests, true);
	pthread_barrier_wait(&barrier);
	heal();
	atomic_store(&rests, false);
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	wait_a_while();
}

static bool is_ring(int fd)
{
	char path[32], target[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	n = readlink(path, target, sizeof(target) - 1);
	target[n < 0 ? 0 : n] = 0;
	return !strcmp(target, "anon_inode:[io_uring]");
}

static unsigned count_rings(void)
{
	unsigned count = 0;

	for (int fd = 0; fd < DESCRIPTORS; fd++)
		count += is_ring(fd);
	return count;
}

/* Their numbers lead elsewhere from now on. */
static void close_rings(void)
{
	int other = open("/dev/null", O_RDWR);

	for (int fd = 0; fd < DESCRIPTORS; fd++)
		if (is_ring(fd))
			dup2(other, fd);
	close(other);
}

/* The threads end, and the handle is closed, while it hangs: what the device writes later is nobody's memory. */
static void close_while_it_hangs(bool without_rings)
{
	uint8_t *room;

	hang();
	if (without_rings) {
		close_rings();
		wait_for_steps();
	}
	alarm(LIMIT);
	atomic_store(&ends, true);
	for (unsigned i = 0; i < READERS; i++)
		pthread_join(readers[i].thread, NULL);
	dsfs_close(fs);
	alarm(0);
	if (!without_rings && !count_rings())
		FAIL("the device keeps no read");
	for (unsigned i = 0; i < READERS; i++)
		reader_free(&readers[i]);
	room = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (room == MAP_FAILED)
		FAIL("no memory");
	memset(room, PATTERN, ROOM);
	heal();
	check_pattern(room, ROOM);
	munmap(room, ROOM);
}

/* Rings that were left behind go when another handle is opened and closed after the device has let go. */
static void check_end(const char *volume)
{
	struct dsfs_arena *arena;
	uint64_t seed = 1;

	alarm(LIMIT);
	do {
		fs = files_open(volume);
		if (dsfs_arena_new(&arena) != 0)
			FAIL("an arena");
		files_read_batch(&files, fs, arena, &seed);
		dsfs_arena_free(arena);
		dsfs_close(fs);
	} while (count_rings());
	alarm(0);
}

int main(int argc, char **argv)
{
	if (argc != 6 && argc != 7) {
		fprintf(stderr, "usage: library-stuck VOLUME SOURCE CONTROL WORD CYCLES [closed]\n");
		return 2;
	}
	control = argv[3];
	word = argv[4];
	signal(SIGALRM, too_late);
	atexit(answer);
	fs = files_open(argv[1]);
	files_find(fs, argv[2], &files);
	for (unsigned i = 0; i < READERS; i++)
		readers[i].seed = i + 1;
	step_one(&readers[0]);
	if (!count_rings()) {
		printf("no io_uring\n");
		return 77;
	}
	pthread_barrier_init(&barrier, NULL, READERS + 1);
	for (unsigned i = 0; i < READERS; i++)
		reader_start(&readers[i]);
	for (int i = 0; i < atoi(argv[5]); i++)
		cycle();
	close_while_it_hangs(argc > 6);
	check_end(argv[1]);
	files_free(&files);
	for (unsigned i = 0; i < READERS; i++)
		printf("%u ", readers[i].steps);
	printf("steps\n");
	return 0;
}
