/* SPDX-License-Identifier: MIT */
/* Threads that ask one handle for names at the same time, also in the middle of a listing: each answer is what a single
 * thread got before.
 *
 * usage: library-names VOLUME THREADS ROUNDS */
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "files.h"

struct known {
	char *path;
	uint64_t first, count; /* of a directory */
	struct stat stat;
};

static struct dsfs *fs;
static struct dsfs_info info = { .size = sizeof(info) };
static struct known *known; /* by id */
static unsigned rounds;

static char *path_of(uint64_t id)
{
	char path[8192];

	if (dsfs_path(fs, id, path, sizeof(path)) < 0)
		FAIL("no path of id %lu", (unsigned long)id);
	return strdup(path);
}

/* By another handle, or what is made by who first asks would be there. */
static void learn(const char *volume)
{
	fs = files_open(volume);
	if (dsfs_info(fs, &info) < 0)
		FAIL("dsfs_info");
	known = calloc(info.ids, sizeof(*known));
	for (uint64_t i = 0; i < info.ids; i++) {
		uint64_t id = info.root + i;

		known[i].path = path_of(id);
		if (dsfs_stat(fs, id, &known[i].stat) < 0)
			FAIL("stat");
		if (S_ISDIR(known[i].stat.st_mode) && dsfs_range(fs, id, &known[i].first, &known[i].count) < 0)
			FAIL("range");
	}
	dsfs_close(fs);
	fs = files_open(volume);
}

static void check_id(uint64_t id)
{
	const struct known *of = &known[id - info.root];
	const char *paths[2] = { of->path, "." };
	uint64_t first, count;
	struct stat st;
	int64_t ids[2];
	char *path = path_of(id);

	if (strcmp(path, of->path) != 0)
		FAIL("id %lu: '%s', expected '%s'", (unsigned long)id, path, of->path);
	free(path);
	if (dsfs_stat(fs, id, &st) < 0 || st.st_ino != of->stat.st_ino || st.st_size != of->stat.st_size)
		FAIL("stat of '%s'", of->path);
	if ((dsfs_lookup(fs, paths, 2, ids) < 0 || ids[0] != (int64_t)id) && !S_ISLNK(st.st_mode))
		FAIL("'%s' leads to %ld, expected %lu", of->path, (long)ids[0], (unsigned long)id);
	if (ids[1] != (int64_t)info.root)
		FAIL("'.' leads to %ld, expected %lu", (long)ids[1], (unsigned long)info.root);
	if (S_ISDIR(st.st_mode) &&
	    (dsfs_range(fs, id, &first, &count) < 0 || first != of->first || count != of->count))
		FAIL("range of '%s'", of->path);
}

struct visit {
	uint64_t state;
	uint64_t seen;
	unsigned left;
};

/* Calls in the middle of a walk, and ends it. */
static int see(void *argument, const struct dsfs_dirent *entry)
{
	struct visit *visit = argument;

	visit->seen++;
	if (files_random(&visit->state, 8) == 0)
		check_id(entry->id);
	if (files_random(&visit->state, 64) == 0)
		check_id(info.root + files_random(&visit->state, info.ids));
	return --visit->left ? 0 : 42;
}

static void *run(void *argument)
{
	struct visit visit = { .state = (uint64_t)(uintptr_t)argument };

	for (unsigned i = 0; i < rounds; i++) {
		uint64_t id = info.root + files_random(&visit.state, info.ids);
		bool is_directory = S_ISDIR(known[id - info.root].stat.st_mode);
		int r;

		check_id(id);
		visit.left = 1 + (unsigned)files_random(&visit.state, 100);
		visit.seen = 0;
		r = dsfs_walk(fs, id, see, &visit);
		if (is_directory ? r != (visit.left ? 0 : 42) : r != -ENOTDIR || visit.seen)
			FAIL("the walk of '%s' gives %d", known[id - info.root].path, r);
		visit.left = 1 + (unsigned)files_random(&visit.state, 100);
		r = dsfs_list(fs, id, see, &visit);
		if (is_directory ? r != (visit.left ? 0 : 42) : r != -ENOTDIR)
			FAIL("the list of '%s' gives %d", known[id - info.root].path, r);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[64];
	unsigned count = argc == 4 ? (unsigned)atoi(argv[2]) : 0;

	if (count == 0 || count > 64)
		return 2;
	rounds = (unsigned)atoi(argv[3]);
	learn(argv[1]);
	for (uintptr_t i = 0; i < count; i++)
		pthread_create(&threads[i], NULL, run, (void *)(i + 1));
	for (unsigned i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	for (uint64_t i = 0; i < info.ids; i++)
		free(known[i].path);
	free(known);
	dsfs_close(fs);
	return 0;
}
