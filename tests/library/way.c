/* SPDX-License-Identifier: MIT */
/* Reads by libdatasetfs, for tests that compare one way to a data set with another.
 *
 * usage: library-way WHERE sums      path, size and a sum of every file, or why it cannot be read; by dsfs_read_many()
 *        library-way WHERE parts     the same of some ranges of each, by dsfs_pread()
 *        library-way WHERE queue     the same as sums by a queue, in any order
 *        library-way WHERE errors    what calls say to arguments that are wrong
 *        library-way WHERE threads   eight threads make all kinds of calls; nothing is said if they agree
 *        library-way WHERE fork      sums by a parent and a child at the same time, which the child says
 *        library-way WHERE closed    a lookup after all descriptors were closed and belong to something else
 *        library-way WHERE session   commands from standard input, a line for each: see below
 * WAY=mount or WAY=direct in the environment makes it go that way; VERSION and DIGEST are options of dsfs_open().
 * Exit status: 0, or 1 and the reason. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "datasetfs/datasetfs.h"
#include "forking.h"

#define BATCH 64
#define THREADS 8

struct file {
	uint64_t id;
	char *path;
};

struct files {
	struct file *items;
	size_t count;
};

static struct dsfs *fs;

static void check(int64_t result)
{
	if (result >= 0)
		return;
	fprintf(stderr, "%s: %s\n", strerrorname_np((int)-result), dsfs_reason());
	exit(1);
}

static void stop(const char *text)
{
	fprintf(stderr, "%s\n", text);
	exit(1);
}

static uint64_t sum_of(const void *bytes, size_t size)
{
	const uint8_t *at = bytes;
	uint64_t sum = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < size; i++)
		sum = (sum ^ at[i]) * UINT64_C(0x100000001b3);
	return sum;
}

static int add_file(void *argument, const struct dsfs_dirent *entry)
{
	struct files *files = argument;

	if (entry->type != DT_REG)
		return 0;
	files->items = reallocarray(files->items, files->count + 1, sizeof(*files->items));
	files->items[files->count++] = (struct file){ entry->id, strdup(entry->path) };
	return 0;
}

static struct files all_files(void)
{
	struct dsfs_info info = { .size = sizeof(info) };
	struct files files = { 0 };

	check(dsfs_info(fs, &info));
	check(dsfs_walk(fs, info.root, add_file, &files));
	if (!files.count)
		stop("no files");
	return files;
}

static void free_files(struct files *files)
{
	for (size_t i = 0; i < files->count; i++)
		free(files->items[i].path);
	free(files->items);
}

static void say(const char *path, const struct dsfs_read *read)
{
	if (read->result < 0)
		printf("%s %s\n", path, strerrorname_np((int)-read->result));
	else
		printf("%s %" PRId64 " %016" PRIx64 "\n", path, read->result,
		       sum_of(read->buffer, (size_t)read->result));
}

/* --- reads --- */

static void sums(void)
{
	struct files files = all_files();
	struct dsfs_read reads[BATCH];
	struct dsfs_arena *arena;

	check(dsfs_arena_new(&arena));
	for (size_t at = 0, count; at < files.count; at += count) {
		count = files.count - at < BATCH ? files.count - at : BATCH;
		for (size_t i = 0; i < count; i++)
			reads[i] = (struct dsfs_read){ .id = files.items[at + i].id, .size = UINT64_MAX };
		int r = dsfs_read_many(fs, reads, count, arena), first = 0;

		for (size_t i = 0; i < count; i++) {
			first = first || reads[i].result >= 0 ? first : (int)reads[i].result;
			say(files.items[at + i].path, &reads[i]);
		}
		if (r != first || (r < 0 && !dsfs_reason()[0]))
			stop("the call does not return the first error, or says nothing");
		dsfs_arena_reset(arena);
	}
	dsfs_arena_free(arena);
	free_files(&files);
}

static void parts(void)
{
	static const uint64_t offsets[] = { 0, 1, 4095, 131071, UINT64_C(1) << 40 };
	static char buffer[70001];
	struct files files = all_files();

	for (size_t i = 0; i < files.count; i++)
		for (size_t at = 0; at < 5; at++) {
			struct dsfs_read read = { .buffer = buffer };

			read.result = dsfs_pread(fs, files.items[i].id, buffer, sizeof(buffer), offsets[at]);
			say(files.items[i].path, &read);
		}
	free_files(&files);
}

/* Of files of at most 1 MiB: a queue has no memory of its own. */
static void queue(void)
{
	static char buffers[BATCH][1 << 20];
	struct files files = all_files();
	struct dsfs_read reads[BATCH], *done[BATCH];
	struct dsfs_queue *asked;
	size_t at = 0, count;
	int n;

	check(dsfs_queue_new(fs, 7, &asked));
	for (; at < files.count; at += count) {
		count = files.count - at < BATCH ? files.count - at : BATCH;
		for (size_t i = 0; i < count; i++)
			reads[i] = (struct dsfs_read){ .id = files.items[at + i].id, .size = sizeof(buffers[i]),
						       .buffer = buffers[i], .user = files.items[at + i].path };
		check(dsfs_queue_submit(asked, reads, count));
		for (size_t left = count; left; left -= (size_t)n) {
			n = dsfs_queue_wait(asked, left < 5 ? left : 5, done, BATCH, -1);
			check(n);
			for (int i = 0; i < n; i++)
				say(done[i]->user, done[i]);
		}
	}
	if (dsfs_queue_wait(asked, 1, done, BATCH, -1) != 0)
		stop("a read that nobody submitted");
	dsfs_queue_free(asked);
	free_files(&files);
}

/* --- errors --- */

static void tell(const char *what, int64_t result)
{
	printf("%s: %s%s\n", what, result < 0 ? strerrorname_np((int)-result) : "done",
	       result < 0 && !dsfs_reason()[0] ? ", and no reason" : "");
}

static int count_entry(void *argument, const struct dsfs_dirent *entry)
{
	(void)entry;
	return ++*(int *)argument == 2 ? 17 : 0;
}

static void tell_paths(void)
{
	static const char *const paths[] = {
		"", "/", ".", "..", "nothing", "file/", "folder/", "folder//./file", "file/x", "folder/../file",
		"folder/../..", ".datasetfs", ".datasetfs/version", "link", "loop", "out", "absolute", "dangling",
		"closed/file", "closed", "link/",
	};
	int64_t id;

	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		int r = dsfs_lookup(fs, &paths[i], 1, &id);

		printf("'%s' ", paths[i]);
		tell("lookup", r);
		if (r == 0)
			printf("%" PRId64 "\n", id);
	}
}

static void tell_ids(uint64_t directory, uint64_t file, uint64_t link)
{
	char buffer[100];
	struct stat st;
	int told = 0;

	tell("pread of a directory", dsfs_pread(fs, directory, buffer, 10, 0));
	tell("pread of a link", dsfs_pread(fs, link, buffer, 10, 0));
	tell("readlink of a file", dsfs_readlink(fs, file, buffer, 100));
	tell("readlink into too little", dsfs_readlink(fs, link, buffer, 4));
	tell("readlink", dsfs_readlink(fs, link, buffer, 5));
	tell("path into too little", dsfs_path(fs, file, buffer, 4));
	tell("path", dsfs_path(fs, file, buffer, 5));
	tell("list of a file", dsfs_list(fs, file, count_entry, &told));
	tell("walk of a link", dsfs_walk(fs, link, count_entry, &told));
	tell("range of a file", dsfs_range(fs, file, &(uint64_t){ 0 }, &(uint64_t){ 0 }));
	printf("list that was ended: %d\n", dsfs_list(fs, directory, count_entry, &told));
	told = 0;
	printf("walk that was ended: %d\n", dsfs_walk(fs, directory, count_entry, &told));
	tell("stat of 0", dsfs_stat(fs, 0, &st));
	tell("stat of 1", dsfs_stat(fs, 1, &st));
	tell("stat of another version", dsfs_stat(fs, directory + (UINT64_C(1) << 40), &st));
}

static void tell_file(const char *what, const char *path)
{
	void *contents = NULL;

	tell(what, dsfs_read_file(fs, path, &contents));
	free(contents);
}

static void errors(void)
{
	const char *paths[] = { "", "file", "folder/link" };
	struct dsfs_info info = { .size = sizeof(info) };
	struct dsfs_read read = { .size = 1 };
	struct stat st;
	int64_t ids[3];

	check(dsfs_info(fs, &info));
	tell_paths();
	check(dsfs_lookup(fs, paths, 2, ids));
	check(dsfs_range(fs, info.root, (uint64_t *)&ids[0], (uint64_t *)&ids[2]));
	for (uint64_t id = info.root; id < info.root + info.ids; id++) {
		char path[100];

		if (dsfs_path(fs, id, path, sizeof(path)) >= 0 && !strcmp(path, "link"))
			ids[2] = (int64_t)id;
	}
	tell_ids(info.root, (uint64_t)ids[1], (uint64_t)ids[2]);
	tell("stat behind the last", dsfs_stat(fs, info.root + info.ids, &st));
	read.id = (uint64_t)ids[1];
	tell("a read without memory", dsfs_read_many(fs, &read, 1, NULL));
	tell_file("a file of a closed folder", "closed/file");
	tell_file("a file that may not be read", "secret");
}

/* --- threads and processes --- */

/* All of them begin with nothing remembered, and come from different ends. */
static void *make_calls(void *argument)
{
	struct dsfs_info info = { .size = sizeof(info) };
	size_t number = (size_t)argument;
	uint64_t sum = 0;
	char path[4096];
	struct stat st;

	check(dsfs_info(fs, &info));
	for (uint64_t i = 0; i < info.ids; i++) {
		uint64_t id = info.root + (number % 2 ? info.ids - 1 - i : (i + number) % info.ids);
		const char *name = path;
		void *contents = NULL;
		int64_t found;
		ssize_t size;

		check(dsfs_path(fs, id, path, sizeof(path)));
		check(dsfs_stat(fs, id, &st));
		if (S_ISLNK(st.st_mode))
			continue;
		check(dsfs_lookup(fs, &name, 1, &found));
		if ((uint64_t)found != id)
			stop("a path leads to another id");
		if (!S_ISREG(st.st_mode))
			continue;
		size = dsfs_read_file(fs, path, &contents);
		check(size);
		sum += sum_of(contents, (size_t)size);
		free(contents);
	}
	return (void *)sum;
}

static void threads(void)
{
	pthread_t thread[THREADS];
	void *sum, *first = NULL;

	for (size_t i = 0; i < THREADS; i++)
		if (pthread_create(&thread[i], NULL, make_calls, (void *)i) != 0)
			stop("no thread");
	for (size_t i = 0; i < THREADS; i++) {
		pthread_join(thread[i], &sum);
		first = i ? first : sum;
		if (sum != first)
			stop("threads read different bytes");
	}
}

static int has_called; /* a thread that begins is in malloc(3) without forking_read() */

static void *call_until_told(void *argument)
{
	while (!__atomic_load_n((int *)argument, __ATOMIC_RELAXED)) {
		forking_read();
		make_calls(NULL);
		forking_unlock();
		__atomic_store_n(&has_called, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

static void fork_while_reading(void)
{
	pthread_t thread;
	int ending = 0, status;
	pid_t child;

	if (pthread_create(&thread, NULL, call_until_told, &ending) != 0)
		stop("no thread");
	while (!__atomic_load_n(&has_called, __ATOMIC_RELAXED))
		usleep(1000);
	for (int i = 0; i < 5; i++) {
		fflush(stdout);
		forking_begin();
		child = fork();
		forking_end(child);
		if (child == 0) {
			if (i == 4)
				sums();
			else
				threads();
			fflush(stdout);
			_exit(0);
		}
		if (waitpid(child, &status, 0) != child || status != 0)
			stop("the child failed");
	}
	__atomic_store_n(&ending, 1, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
}

static void closed(void)
{
	const char *path = "passwd";
	int etc = open("/etc", O_RDONLY | O_DIRECTORY);
	int64_t id;

	for (int fd = 3; fd < 65536; fd++)
		if (fd != etc && fcntl(fd, F_GETFD) >= 0)
			dup2(etc, fd);
	tell("lookup", dsfs_lookup(fs, &path, 1, &id));
}

/* --- a session --- */

static int name_entry(void *argument, const struct dsfs_dirent *entry)
{
	(void)argument;
	printf(" %s", entry->name);
	return 0;
}

static void command(const char *verb, const char *argument)
{
	struct dsfs_info info = { .size = sizeof(info) };
	uint64_t id = strtoull(argument, NULL, 10);
	char text[65537];
	void *contents = NULL;
	struct stat st;
	int64_t r = -EINVAL, found = 0;

	check(dsfs_info(fs, &info));
	if (!strcmp(verb, "lookup") && (r = dsfs_lookup(fs, &argument, 1, &found)) == 0)
		printf("%" PRId64 "\n", found);
	else if (!strcmp(verb, "read") && (r = dsfs_pread(fs, id, text, sizeof(text) - 1, 0)) >= 0)
		printf("%.*s\n", (int)strcspn(text, "\n"), text);
	else if (!strcmp(verb, "contents") && (r = dsfs_read_file(fs, argument, &contents)) >= 0)
		printf("%" PRId64 " bytes\n", r);
	else if (!strcmp(verb, "stat") && (r = dsfs_stat(fs, id ? id : info.root, &st)) == 0)
		printf("%" PRIu64 " %" PRIu64 "\n", (uint64_t)st.st_ino, (uint64_t)st.st_size);
	else if (!strcmp(verb, "list") && (r = dsfs_list(fs, id ? id : info.root, name_entry, NULL)) == 0)
		printf("\n");
	else if (!strcmp(verb, "refresh") && (r = dsfs_refresh(fs)) >= 0)
		printf("%d\n", (int)r);
	else if (!strcmp(verb, "info") && (r = 0) == 0)
		printf("%s %u %" PRIu64 " %s\n", info.label, info.way, info.sequence, info.why);
	if (r < 0)
		printf("%s %s\n", strerrorname_np((int)-r), dsfs_reason());
	free(contents);
	fflush(stdout);
}

static void session(void)
{
	char line[4096], *argument;

	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = 0;
		argument = line + strcspn(line, " ");
		if (*argument)
			*argument++ = 0;
		command(line, argument);
	}
}

static const struct verb {
	const char *name;
	void (*run)(void);
} verbs[] = {
	{ "sums", sums },       { "parts", parts },   { "queue", queue },
	{ "errors", errors },   { "threads", threads }, { "fork", fork_while_reading },
	{ "closed", closed },   { "session", session },
};

int main(int argc, char **argv)
{
	const char *way = getenv("WAY");
	const struct dsfs_options options = {
		.size = sizeof(options),
		.flags = !way ? 0 : !strcmp(way, "mount") ? DSFS_OPEN_MOUNT : DSFS_OPEN_DIRECT,
		.version = getenv("VERSION"),
		.digest = getenv("DIGEST"),
	};

	if (argc != 3)
		return 2;
	check(dsfs_open(argv[1], &options, &fs));
	for (size_t i = 0; i < sizeof(verbs) / sizeof(*verbs); i++)
		if (!strcmp(argv[2], verbs[i].name)) {
			verbs[i].run();
			dsfs_close(fs);
			return fflush(stdout) ? 1 : 0;
		}
	return 2;
}
