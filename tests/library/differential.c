/* SPDX-License-Identifier: MIT */
/* Reads files and ranges of a version in every way, by several threads on one handle, and compares with the source.
 * usage: library-differential VOLUME SOURCE SEED THREADS ROUNDS */
#include "files.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#define READS 200u
#define ROOM  (64u << 10)

struct reader {
	struct dsfs *fs;
	const struct files *files;
	uint64_t seed;
	unsigned rounds;
	pthread_t thread;
};

struct work {
	struct reader *reader;
	const struct file *files[READS];
	struct dsfs_read reads[READS];
	uint8_t *memory; /* READS times ROOM and a page */
};

static const struct file *any_file(struct reader *reader)
{
	return &reader->files->items[files_random(&reader->seed, reader->files->count)];
}

/* A whole file, a range in it, one that goes over its end, one behind it. */
static void choose(struct reader *reader, const struct file *file, struct dsfs_read *read, uint64_t most)
{
	uint64_t room = file->size < most ? file->size : most;

	*read = (struct dsfs_read){ .id = file->id, .size = room };
	switch (files_random(&reader->seed, 4)) {
	case 0:
		read->offset = files_random(&reader->seed, file->size + 1);
		read->size = files_random(&reader->seed, room + 1);
		break;
	case 1:
		read->offset = files_random(&reader->seed, file->size + 10);
		read->size = most;
		break;
	default:
		break;
	}
}

static void choose_all(struct work *work, uint64_t most)
{
	for (unsigned i = 0; i < READS; i++) {
		work->files[i] = any_file(work->reader);
		choose(work->reader, work->files[i], &work->reads[i], most);
	}
}

/* Aligned for the device, or not at all. */
static void give_buffers(struct work *work)
{
	for (unsigned i = 0; i < READS; i++)
		work->reads[i].buffer = work->memory + i * (ROOM + 4096) +
					(files_random(&work->reader->seed, 2) ? 0 :
					 files_random(&work->reader->seed, 4096));
}

static void check_all(const struct work *work)
{
	for (unsigned i = 0; i < READS; i++)
		files_check(work->files[i], &work->reads[i]);
}

static void read_into_arena(struct work *work, struct dsfs_arena *arena)
{
	dsfs_arena_reset(arena);
	choose_all(work, UINT64_MAX / 2);
	if (dsfs_read_many(work->reader->fs, work->reads, READS, arena) != 0)
		FAIL("read_many into an arena");
	check_all(work);
}

static void read_into_buffers(struct work *work)
{
	choose_all(work, ROOM);
	give_buffers(work);
	if (dsfs_read_many(work->reader->fs, work->reads, READS, NULL) != 0)
		FAIL("read_many into buffers");
	check_all(work);
}

static void read_one_by_one(struct work *work)
{
	choose_all(work, ROOM);
	give_buffers(work);
	for (unsigned i = 0; i < READS; i++)
		work->reads[i].result = dsfs_pread(work->reader->fs, work->reads[i].id, work->reads[i].buffer,
						   work->reads[i].size, work->reads[i].offset);
	check_all(work);
}

/* By path, with a NUL behind. */
static void read_files(struct work *work)
{
	void *contents;

	for (unsigned i = 0; i < READS / 10; i++) {
		const struct file *file = any_file(work->reader);
		struct dsfs_read read = { .size = UINT64_MAX };

		read.result = dsfs_read_file(work->reader->fs, file->path, &contents);
		read.buffer = contents;
		files_check(file, &read);
		if (((char *)contents)[read.result] != 0)
			FAIL("'%s': no NUL behind it", file->path);
		free(contents);
	}
}

/* Each comes back once, whatever the order. */
static void read_by_queue(struct work *work)
{
	unsigned depth = (unsigned)files_random(&work->reader->seed, 65), submitted = 0, ended = 0;
	bool seen[READS] = { false };
	struct dsfs_read *done[READS];
	struct dsfs_queue *queue;

	if (dsfs_queue_new(work->reader->fs, depth, &queue) != 0)
		FAIL("a queue of depth %u", depth);
	choose_all(work, ROOM);
	give_buffers(work);
	while (ended < READS) {
		unsigned more = (unsigned)files_random(&work->reader->seed, READS - submitted + 1);
		unsigned least = (unsigned)files_random(&work->reader->seed, submitted + more - ended + 1);
		int timeout = (int)files_random(&work->reader->seed, 4) - 1, count;

		if (dsfs_queue_submit(queue, work->reads + submitted, more) != 0)
			FAIL("submit");
		submitted += more;
		count = dsfs_queue_wait(queue, least, done, READS, timeout);
		if (count < 0 || (timeout < 0 && count < (int)least))
			FAIL("%d reads ended, expected %u", count, least);
		for (int i = 0; i < count; i++) {
			if (seen[done[i] - work->reads])
				FAIL("a read ended twice");
			seen[done[i] - work->reads] = true;
		}
		ended += (unsigned)count;
	}
	check_all(work);
	dsfs_queue_free(queue);
}

static void *reader_main(void *argument)
{
	struct reader *reader = argument;
	struct work *work = calloc(1, sizeof(*work));
	struct dsfs_arena *arena;

	work->reader = reader;
	work->memory = aligned_alloc(4096, READS * (ROOM + 4096));
	if (dsfs_arena_new(&arena) != 0)
		FAIL("an arena");
	for (unsigned i = 0; i < reader->rounds; i++) {
		read_into_arena(work, arena);
		read_into_buffers(work);
		read_one_by_one(work);
		read_files(work);
		read_by_queue(work);
	}
	dsfs_arena_free(arena);
	free(work->memory);
	free(work);
	return NULL;
}

/* Every file once, whole. */
static void read_every_file(struct dsfs *fs, const struct files *files)
{
	struct dsfs_read *reads = calloc(files->count, sizeof(*reads));
	struct dsfs_arena *arena;

	if (dsfs_arena_new(&arena) != 0)
		FAIL("an arena");
	for (size_t i = 0; i < files->count; i++)
		reads[i] = (struct dsfs_read){ .id = files->items[i].id, .size = UINT64_MAX };
	if (dsfs_read_many(fs, reads, files->count, arena) != 0)
		FAIL("read_many of all files");
	for (size_t i = 0; i < files->count; i++)
		files_check(&files->items[i], &reads[i]);
	dsfs_arena_free(arena);
	free(reads);
}

int main(int argc, char **argv)
{
	struct reader readers[16];
	unsigned threads;
	struct files files;
	struct dsfs *fs;

	if (argc != 6)
		return 2;
	threads = (unsigned)atoi(argv[4]);
	fs = files_open(argv[1]);
	files_find(fs, argv[2], &files);
	read_every_file(fs, &files);
	for (unsigned i = 0; i < threads; i++) {
		readers[i] = (struct reader){ .fs = fs, .files = &files, .rounds = (unsigned)atoi(argv[5]),
					      .seed = strtoull(argv[3], NULL, 0) * 1000003 + i + 1 };
		if (pthread_create(&readers[i].thread, NULL, reader_main, &readers[i]) != 0)
			FAIL("a thread");
	}
	for (unsigned i = 0; i < threads; i++)
		pthread_join(readers[i].thread, NULL);
	files_free(&files);
	dsfs_close(fs);
	printf("files=%zu\n", files.count);
	return 0;
}
