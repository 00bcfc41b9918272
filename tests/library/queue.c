/* SPDX-License-Identifier: MIT */
/* Reads files that lie side by side by a queue, in one submit and in many, and asks the device how often it was read.
 * usage: library-queue VOLUME SOURCE STAT FILES
 *   STAT: /sys/block/DEVICE/stat of the device that VOLUME is; FILES: at least so many a read, when all are submitted
 *   together
 * Prints a line for each way. Exit status: 0; 1 and the reason. */
#include "files.h"

#include <inttypes.h>
#include <string.h>

#define OPEN 64u /* reads that a stream has under way */
#define STRAYS 8 /* reads of the device by udev, which looks at it when it was attached */

static struct dsfs *fs;
static struct files files;
static struct dsfs_read *reads;
static const char *stat_path;

static uint64_t device_reads(void)
{
	FILE *file = fopen(stat_path, "r");
	uint64_t count;

	if (!file || fscanf(file, "%" SCNu64, &count) != 1)
		FAIL("cannot read '%s'", stat_path);
	fclose(file);
	return count;
}

static int compare_ids(const void *a, const void *b)
{
	const struct file *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

/* Of all files by their places, the last one first. */
static void make_reads(void)
{
	uint64_t *ids = calloc(files.count, sizeof(*ids));

	if (dsfs_placed(fs, 0, ids, files.count) != (int)files.count)
		FAIL("the places");
	for (size_t i = 0; i < files.count; i++) {
		struct file wanted = { .id = ids[files.count - 1 - i] };
		struct file *file = bsearch(&wanted, files.items, files.count, sizeof(wanted), compare_ids);

		reads[i] = (struct dsfs_read){ .id = file->id, .size = file->size, .user = file };
		reads[i].buffer = malloc(file->size + 1);
	}
	free(ids);
}

static void check_and_free(struct dsfs_read *read)
{
	files_check(read->user, read);
	memset(read->buffer, 0, read->size);
	free(read->buffer);
}

static size_t wait_for(struct dsfs_queue *queue, size_t least, size_t most)
{
	struct dsfs_read *done[OPEN];
	int count = dsfs_queue_wait(queue, least, done, most, -1);

	if (count < (int)least)
		FAIL("%d reads ended, expected %zu", count, least);
	for (int i = 0; i < count; i++)
		check_and_free(done[i]);
	return (size_t)count;
}

static void wait_for_all(struct dsfs_queue *queue)
{
	for (size_t count = 0; count < files.count;)
		count += wait_for(queue, 1, OPEN);
}

static void submit(struct dsfs_queue *queue, struct dsfs_read *first, size_t count)
{
	if (dsfs_queue_submit(queue, first, count) != 0)
		FAIL("submit");
}

static void in_one_submit(struct dsfs_queue *queue)
{
	submit(queue, reads, files.count);
	wait_for_all(queue);
}

/* The only slot is taken by the first, so most wait together, unless the device is faster. */
static void one_by_one(struct dsfs_queue *queue)
{
	for (size_t i = 0; i < files.count; i++)
		submit(queue, &reads[i], 1);
	wait_for_all(queue);
}

/* Fills the queue up with a read for each that comes back. How many are read together depends on
 * the device: while it has nothing else to do, a read goes at once. */
static void in_a_stream(struct dsfs_queue *queue)
{
	size_t next = 0, ended = 0;

	while (ended < files.count) {
		while (next < files.count && next - ended < OPEN)
			submit(queue, &reads[next++], 1);
		ended += wait_for(queue, 1, 1);
	}
}

static void run(const char *way, void (*read)(struct dsfs_queue *queue), unsigned depth, size_t least_files)
{
	struct dsfs_queue *queue;
	uint64_t before;

	if (dsfs_queue_new(fs, depth, &queue) != 0)
		FAIL("a queue");
	make_reads();
	before = device_reads();
	read(queue);
	before = device_reads() - before;
	printf("%s: %zu files, %" PRIu64 " reads\n", way, files.count, before);
	if (before > files.count / least_files + STRAYS)
		FAIL("%s: expected at least %zu files a read", way, least_files);
	dsfs_queue_free(queue);
}

int main(int argc, char **argv)
{
	if (argc != 5) {
		fprintf(stderr, "usage: library-queue VOLUME SOURCE STAT FILES\n");
		return 2;
	}
	stat_path = argv[3];
	fs = files_open(argv[1]);
	files_find(fs, argv[2], &files);
	qsort(files.items, files.count, sizeof(*files.items), compare_ids);
	reads = calloc(files.count, sizeof(*reads));
	run("in one submit", in_one_submit, 0, strtoul(argv[4], NULL, 10));
	run("one by one", one_by_one, 1, 1);
	run("in a stream", in_a_stream, 0, 1);
	free(reads);
	files_free(&files);
	dsfs_close(fs);
	return 0;
}
