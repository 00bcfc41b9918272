/* SPDX-License-Identifier: MIT */
/* A handle that is told what to do: commands from standard input, an answer of one line for each.
 *
 *   open WHERE [direct|mount] [VERSION]   "way LABEL WHY"
 *   info                                  the same
 *   compare SOURCE                        reads every file below SOURCE: "COUNT right, COUNT failed REASON"
 *   refresh                               "0" or "1"
 *   readers COUNT LABEL=SOURCE…           threads read files of SOURCEs until stop, while the handle changes
 *   stop                                  "COUNT right, COUNT failed REASON"
 *   forked COMMAND…                       compare or refresh, by a child
 *   directory PATH                        goes there: "there"
 *   closefrom FD                          closes all descriptors from this number on: "closed"
 *   close                                 "closed"
 *   quit                                  nothing
 * With the variable TRUST, a file of allowed signers, open and refresh take only what these have signed.
 * A call that fails is answered with the name of its error and the reason. Contents other than the source's end the
 * program. */
#include "files.h"

#include <errno.h>
#include <ftw.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define SOURCES 4
#define THREADS 16

struct source {
	char label[64], folder[1024];
	char **paths; /* relative to the folder */
	size_t count;
};

static struct dsfs *fs;
static struct source sources[SOURCES];
static unsigned source_count;
static pthread_t threads[THREADS];
static unsigned thread_count;
static _Atomic bool stopped;
static _Atomic uint64_t right, failed;
static char reason[1024];
static pthread_mutex_t reason_lock = PTHREAD_MUTEX_INITIALIZER;

static int add_path(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	struct source *source = &sources[source_count];

	(void)st;
	(void)ftw;
	if (kind != FTW_F)
		return 0;
	source->paths = realloc(source->paths, (source->count + 1) * sizeof(*source->paths));
	source->paths[source->count++] = strdup(path + strlen(source->folder) + 1);
	return 0;
}

static void add_source(const char *label, const char *folder)
{
	struct source *source = &sources[source_count];

	snprintf(source->label, sizeof(source->label), "%s", label);
	snprintf(source->folder, sizeof(source->folder), "%s", folder);
	if (nftw(folder, add_path, 16, FTW_PHYS) < 0 || !source->count)
		FAIL("no files in '%s'", folder);
	source_count++;
}

static void forget_sources(void)
{
	while (source_count) {
		struct source *source = &sources[--source_count];

		while (source->count)
			free(source->paths[--source->count]);
		free(source->paths);
		*source = (struct source){ .paths = NULL };
	}
}

static bool has_contents(const char *folder, const char *path, const void *contents, size_t size)
{
	char name[2048], *expected = malloc(size + 1);
	bool same = false;
	FILE *file;

	snprintf(name, sizeof(name), "%s/%s", folder, path);
	file = fopen(name, "rb");
	if (file) {
		same = fread(expected, 1, size + 1, file) == size && !memcmp(expected, contents, size);
		fclose(file);
	}
	free(expected);
	return same;
}

static void note_failure(ssize_t code)
{
	failed++;
	pthread_mutex_lock(&reason_lock);
	snprintf(reason, sizeof(reason), "%s %.900s", strerrorname_np((int)-code), dsfs_reason());
	pthread_mutex_unlock(&reason_lock);
}

/* By whichever version the handle had: the contents are one source's. */
static void read_one(const char *path)
{
	void *contents = NULL;
	ssize_t size = dsfs_read_file(fs, path, &contents);
	bool same = false;

	if (size < 0) {
		note_failure(size);
		return;
	}
	for (unsigned i = 0; i < source_count && !same; i++)
		same = has_contents(sources[i].folder, path, contents, (size_t)size);
	if (!same)
		FAIL("'%s': contents of no version", path);
	right++;
	free(contents);
}

static void *reader(void *argument)
{
	unsigned seed = (unsigned)(uintptr_t)argument;

	while (!stopped) {
		const struct source *source = &sources[rand_r(&seed) % source_count];

		read_one(source->paths[(size_t)rand_r(&seed) % source->count]);
	}
	return NULL;
}

static void print_counts(void)
{
	printf("%llu right, %llu failed %s\n", (unsigned long long)right, (unsigned long long)failed, reason);
	right = failed = 0;
	reason[0] = 0;
}

static void compare(const char *folder)
{
	add_source("", folder);
	for (size_t i = 0; i < sources[0].count; i++)
		read_one(sources[0].paths[i]);
	forget_sources();
	print_counts();
}

static void start(char *rest)
{
	unsigned count = (unsigned)strtoul(rest, &rest, 10);
	char *word, *save = NULL;

	for (word = strtok_r(rest, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
		char *folder = strchr(word, '=');

		*folder++ = 0;
		add_source(word, folder);
	}
	stopped = false;
	for (; thread_count < count && thread_count < THREADS; thread_count++)
		pthread_create(&threads[thread_count], NULL, reader, (void *)(uintptr_t)(thread_count + 1));
	printf("reading\n");
}

static void stop(void)
{
	stopped = true;
	while (thread_count)
		pthread_join(threads[--thread_count], NULL);
	forget_sources();
	print_counts();
}

static void print_code(int code)
{
	if (code < 0)
		printf("%s %s\n", strerrorname_np(-code), dsfs_reason());
	else
		printf("%d\n", code);
}

static void print_info(void)
{
	static const char *const ways[] = { "?", "volume", "direct", "mount" };
	struct dsfs_info info = { .size = sizeof(info) };

	if (dsfs_info(fs, &info) < 0)
		FAIL("info");
	printf("%s %s %s\n", ways[info.way], info.label, info.why);
}

static void open_handle(char *rest)
{
	struct dsfs_options options = { .size = sizeof(options), .trust = getenv("TRUST") };
	char *save = NULL, *where = strtok_r(rest, " ", &save), *word;
	int r;

	while ((word = strtok_r(NULL, " ", &save))) {
		if (!strcmp(word, "direct"))
			options.flags = DSFS_OPEN_DIRECT;
		else if (!strcmp(word, "mount"))
			options.flags = DSFS_OPEN_MOUNT;
		else
			options.version = word;
	}
	dsfs_close(fs);
	fs = NULL;
	r = dsfs_open(where, &options, &fs);
	if (r < 0)
		print_code(r);
	else
		print_info();
}

/* As a program does that closes what it does not know. */
static void close_from(int first)
{
	closefrom(first);
	printf("closed\n");
}

static void change_directory(const char *path)
{
	if (chdir(path) < 0)
		FAIL("'%s'", path);
	printf("there\n");
}

static void close_handle(void)
{
	dsfs_close(fs);
	fs = NULL;
	printf("closed\n");
}

static void handle(char *line);

static void in_child(char *line)
{
	pid_t child;
	int status;

	fflush(stdout);
	child = fork();
	if (child == 0) {
		handle(line);
		fflush(stdout);
		_exit(0);
	}
	if (waitpid(child, &status, 0) < 0 || status != 0)
		FAIL("the child's status is %#x", status);
}

static void handle(char *line)
{
	char *rest = strchr(line, ' ');

	if (rest)
		*rest++ = 0;
	else
		rest = line + strlen(line);
	if (!strcmp(line, "open"))
		open_handle(rest);
	else if (!strcmp(line, "info"))
		print_info();
	else if (!strcmp(line, "compare"))
		compare(rest);
	else if (!strcmp(line, "refresh"))
		print_code(dsfs_refresh(fs));
	else if (!strcmp(line, "readers"))
		start(rest);
	else if (!strcmp(line, "stop"))
		stop();
	else if (!strcmp(line, "forked"))
		in_child(rest);
	else if (!strcmp(line, "closefrom"))
		close_from(atoi(rest));
	else if (!strcmp(line, "directory"))
		change_directory(rest);
	else if (!strcmp(line, "close"))
		close_handle();
	else
		FAIL("no command '%s'", line);
}

int main(void)
{
	char line[4096];

	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = 0;
		if (!strcmp(line, "quit"))
			break;
		handle(line);
		fflush(stdout);
	}
	dsfs_close(fs);
	return 0;
}
