/* SPDX-License-Identifier: MIT */
/* Reads a tree by libdatasetfs: the load of the rows with a column 'lib'.
 *
 * usage: library ids WHERE LIST [OPTIONS]     batches of files, whose ids were looked up before the clock runs
 *        library paths WHERE LIST [OPTIONS]   the same, looked up while it runs
 *        library queue WHERE LIST [OPTIONS]   a queue for each thread, with ids
 *        library files WHERE LIST [OPTIONS]   one file after the other, by path: dsfs_read_file()
 * --threads N  --seed N  --seconds S (0: to the end)
 * --batch N   files of one call (64)   --depth N   of a queue (32), in which are twice as many
 * --way any|direct|mount   as dsfs_open() has it
 *
 * WHERE is a mountpoint or a volume; LIST has one path relative to the root a line. load.h says what it prints. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "datasetfs/datasetfs.h"
#include "load.h"

enum { MAX_BATCH = 4096 };

static struct dsfs *fs;
static struct dsfs_info info = { .size = sizeof(info) };
static int64_t *ids;    /* of the files in LIST */
static uint64_t *sizes; /* of the same, */
static uint64_t largest; /* and what the largest needs */
static bool by_path;
static size_t batch_size = 64;
static unsigned depth = 32;
static uint32_t way;

/* The reads that a thread makes at once. */
struct batch {
	struct dsfs_read *reads;
	const char **paths;
	int64_t *ids;
	struct dsfs_arena *arena;
};

static void __attribute__((noreturn)) refused(const char *what, size_t file)
{
	load_die("%s of '%s': %s", what, load.paths[file], dsfs_reason());
}

/* --- before the clock runs --------------------------------------------------------------------------- */

static void open_where(const char *where)
{
	struct dsfs_options options = { .size = sizeof(options), .flags = way };

	if (dsfs_open(where, &options, &fs) || dsfs_info(fs, &info))
		load_die("'%s': %s", where, dsfs_reason());
}

static void look_up(void)
{
	struct stat st;

	ids = load_alloc(load.path_count, sizeof(*ids));
	sizes = load_alloc(load.path_count, sizeof(*sizes));
	if (dsfs_lookup(fs, (const char *const *)load.paths, load.path_count, ids))
		load_die("lookup: %s", dsfs_reason());
	for (size_t i = 0; i < load.path_count; i++) {
		if (dsfs_stat(fs, (uint64_t)ids[i], &st))
			refused("stat", i);
		sizes[i] = (uint64_t)st.st_size;
		if (sizes[i] > largest)
			largest = sizes[i];
	}
}

/* --- batches ----------------------------------------------------------------------------------------- */

static void batch_make(struct batch *batch)
{
	batch->reads = load_alloc(batch_size, sizeof(*batch->reads));
	batch->paths = load_alloc(batch_size, sizeof(*batch->paths));
	batch->ids = load_alloc(batch_size, sizeof(*batch->ids));
	if (dsfs_arena_new(&batch->arena))
		load_die("arena: %s", dsfs_reason());
}

static void batch_free(struct batch *batch)
{
	dsfs_arena_free(batch->arena);
	free(batch->ids);
	free(batch->paths);
	free(batch->reads);
}

static void batch_find(struct batch *batch, const struct task *tasks, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		batch->paths[i] = load.paths[tasks[i].file];
		batch->ids[i] = ids[tasks[i].file];
	}
	if (by_path && dsfs_lookup(fs, batch->paths, count, batch->ids))
		refused("lookup", tasks->file);
}

static size_t batch_read(struct batch *batch, const struct task *tasks, size_t count)
{
	size_t total = 0;

	batch_find(batch, tasks, count);
	for (size_t i = 0; i < count; i++)
		batch->reads[i] = (struct dsfs_read){ .id = (uint64_t)batch->ids[i], .size = UINT64_MAX };
	dsfs_arena_reset(batch->arena);
	if (dsfs_read_many(fs, batch->reads, count, batch->arena))
		refused("read beginning", tasks->file);
	for (size_t i = 0; i < count; i++) {
		if (batch->reads[i].result != (int64_t)sizes[tasks[i].file])
			refused("size", tasks[i].file);
		total += (size_t)batch->reads[i].result;
	}
	return total;
}

static void *batch_worker(void *unused)
{
	unsigned long long total = 0;
	uint64_t begun = load_now();
	struct batch batch;
	size_t first, count;

	batch_make(&batch);
	while ((first = atomic_fetch_add(&load_next, batch_size)) < load.task_count) {
		count = load.task_count - first < batch_size ? load.task_count - first : batch_size;
		total += batch_read(&batch, load.tasks + first, count);
		begun = load_done(first, count, begun);
		if (load.deadline && begun >= load.deadline)
			break;
	}
	load_bytes += total;
	batch_free(&batch);
	return unused;
}

/* --- a queue ----------------------------------------------------------------------------------------- */

/* A read in a queue, again and again another file. */
struct slot {
	struct dsfs_read read;
	size_t task;
	uint64_t begun;
};

/* Buffers that the device can write to. */
static struct slot *slots_make(size_t count)
{
	size_t room = (largest + 4096) / 4096 * 4096;
	struct slot *slots = load_alloc(count, sizeof(*slots));
	char *buffers = aligned_alloc(4096, count * room);

	if (!buffers)
		load_die("no memory for %zu files", count);
	for (size_t i = 0; i < count; i++)
		slots[i].read = (struct dsfs_read){ .buffer = buffers + i * room, .size = room, .user = &slots[i] };
	return slots;
}

/* Gives the slot a task; false when none is left. */
static bool slot_take(struct slot *slot)
{
	if (load.deadline && load_now() >= load.deadline)
		return false;
	slot->task = load_next++;
	if (slot->task >= load.task_count)
		return false;
	slot->begun = load_now();
	slot->read.id = (uint64_t)ids[load.tasks[slot->task].file];
	return true;
}

static size_t slot_finish(const struct slot *slot)
{
	uint32_t file = load.tasks[slot->task].file;

	if (slot->read.result != (int64_t)sizes[file])
		load_die("read of '%s': %lld bytes of %llu", load.paths[file], (long long)slot->read.result,
			 (unsigned long long)sizes[file]);
	load_done(slot->task, 1, slot->begun);
	return (size_t)slot->read.result;
}

static void queue_submit(struct dsfs_queue *queue, struct slot *slot, size_t *flying)
{
	if (!slot_take(slot))
		return;
	if (dsfs_queue_submit(queue, &slot->read, 1))
		load_die("submit: %s", dsfs_reason());
	++*flying;
}

/* All slots go out, and each goes out again as it comes back. */
static unsigned long long queue_run(struct dsfs_queue *queue, struct slot *slots, size_t slot_count)
{
	struct dsfs_read *done[MAX_BATCH];
	unsigned long long total = 0;
	size_t flying = 0;
	int count;

	for (size_t i = 0; i < slot_count; i++)
		queue_submit(queue, &slots[i], &flying);
	while (flying) {
		count = dsfs_queue_wait(queue, 1, done, MAX_BATCH, -1);
		if (count <= 0)
			load_die("wait: %s", dsfs_reason());
		flying -= (size_t)count;
		for (int i = 0; i < count; i++) {
			total += slot_finish(done[i]->user);
			queue_submit(queue, done[i]->user, &flying);
		}
	}
	return total;
}

static void *queue_worker(void *unused)
{
	struct slot *slots = slots_make(2 * depth);
	struct dsfs_queue *queue;

	if (dsfs_queue_new(fs, depth, &queue))
		load_die("queue: %s", dsfs_reason());
	load_bytes += queue_run(queue, slots, 2 * depth);
	dsfs_queue_free(queue);
	free(slots[0].read.buffer);
	free(slots);
	return unused;
}

/* --- one file after the other ------------------------------------------------------------------------- */

static void *file_worker(void *unused)
{
	unsigned long long total = 0;
	uint64_t begun = load_now();
	void *contents;
	ssize_t got;
	size_t i;

	while ((i = load_next++) < load.task_count) {
		got = dsfs_read_file(fs, load.paths[load.tasks[i].file], &contents);
		if (got < 0)
			refused("read", load.tasks[i].file);
		free(contents);
		total += (size_t)got;
		begun = load_done(i, 1, begun);
		if (load.deadline && begun >= load.deadline)
			break;
	}
	load_bytes += total;
	return unused;
}

/* --- the command line ------------------------------------------------------------------------------- */

static uint32_t way_named(const char *name)
{
	if (!strcmp(name, "any"))
		return 0;
	if (!strcmp(name, "direct"))
		return DSFS_OPEN_DIRECT;
	if (!strcmp(name, "mount"))
		return DSFS_OPEN_MOUNT;
	load_die("'--way %s': any, direct or mount", name);
}

static void set_option(const char *name, const char *value)
{
	if (value && !strcmp(name, "--batch"))
		batch_size = (size_t)load_number(value, 1, MAX_BATCH);
	else if (value && !strcmp(name, "--depth"))
		depth = (unsigned)load_number(value, 1, 1024);
	else if (value && !strcmp(name, "--way"))
		way = way_named(value);
	else
		load_option(name, value);
}

static void *(*worker_named(const char *mode))(void *)
{
	by_path = !strcmp(mode, "paths");
	if (by_path || !strcmp(mode, "ids"))
		return batch_worker;
	if (!strcmp(mode, "queue"))
		return queue_worker;
	if (!strcmp(mode, "files"))
		return file_worker;
	load_die("'%s': ids, paths, queue or files", mode);
}

int main(int argc, char **argv)
{
	void *(*worker)(void *);

	if (argc < 4)
		load_die("usage: library ids|paths|queue|files WHERE LIST [OPTIONS]");
	worker = worker_named(argv[1]);
	for (int i = 4; i < argc; i += 2)
		set_option(argv[i], argv[i + 1]);
	load_read_list(argv[3]);
	open_where(argv[2]);
	look_up();
	load_plan_files();

	load_begin();
	load_run_threads(worker);
	load_print_tasks();
	printf(", \"way\": %u}\n", info.way);
	dsfs_close(fs);
	return 0;
}
