/* SPDX-License-Identifier: MIT */
/* Reads a large directory in every order: telldir and seekdir, rewinddir, two streams at once, types and inode numbers.
 * usage: directories DIRECTORY ENTRIES SEED: ENTRIES counts what the directory holds besides . and .. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct seen {
	long before; /* telldir before it was read */
	ino_t inode;
	char name[256];
};

static void die(const char *what, const char *name)
{
	printf("fail: %s: '%s' (%s)\n", what, name, strerror(errno));
	exit(1);
}

static long read_all(DIR *stream, struct seen *seen, long room)
{
	long count = 0;
	struct dirent *entry;

	for (;;) {
		long before = telldir(stream);

		errno = 0;
		entry = readdir(stream);
		if (!entry)
			break;
		if (count == room)
			die("more entries than expected", entry->d_name);
		seen[count].before = before;
		seen[count].inode = entry->d_ino;
		snprintf(seen[count].name, sizeof(seen[count].name), "%s", entry->d_name);
		if (entry->d_type == DT_UNKNOWN)
			die("no type", entry->d_name);
		count++;
	}
	if (errno)
		die("readdir", "");
	return count;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct seen *)a)->name, ((const struct seen *)b)->name);
}

static void check_unique(const struct seen *seen, long count)
{
	struct seen *copy = malloc((size_t)count * sizeof(*copy));

	memcpy(copy, seen, (size_t)count * sizeof(*copy));
	qsort(copy, (size_t)count, sizeof(*copy), by_name);
	for (long i = 1; i < count; i++)
		if (!strcmp(copy[i].name, copy[i - 1].name))
			die("listed twice", copy[i].name);
	free(copy);
}

static void check_seek(DIR *stream, const struct seen *seen, long count, long rounds)
{
	for (long i = 0; i < rounds; i++) {
		long n = random() % count;
		struct dirent *entry;

		seekdir(stream, seen[n].before);
		for (long k = n; k < count && k < n + 3; k++) {
			entry = readdir(stream);
			if (!entry || strcmp(entry->d_name, seen[k].name) || entry->d_ino != seen[k].inode)
				die("another entry after seekdir", seen[k].name);
		}
	}
}

static void check_rewind(DIR *stream, const struct seen *seen)
{
	rewinddir(stream);
	for (int i = 0; i < 3; i++) {
		struct dirent *entry = readdir(stream);

		if (!entry || strcmp(entry->d_name, seen[i].name))
			die("another entry after rewinddir", seen[i].name);
	}
}

static void check_stat(int fd, const struct seen *seen, long count, long rounds)
{
	struct stat st;

	for (long i = 0; i < rounds; i++) {
		const struct seen *one = &seen[random() % count];

		if (!strcmp(one->name, ".."))
			continue;
		if (fstatat(fd, one->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			die("listed, but no such name", one->name);
		if (st.st_ino != one->inode)
			die("d_ino is not st_ino", one->name);
	}
}

/* Two streams that take turns see the same. */
static void check_interleaved(const char *path, const struct seen *seen, long count)
{
	DIR *a = opendir(path), *b = opendir(path);

	for (long i = 0; i < count && i < 5000; i++) {
		struct dirent *one = readdir(a), *two;

		if (i % 3 == 0)
			(void)readdir(b);
		if (!one || strcmp(one->d_name, seen[i].name))
			die("another entry in one of two streams", seen[i].name);
		two = i % 1000 == 999 ? (rewinddir(b), readdir(b)) : NULL;
		if (two && strcmp(two->d_name, seen[0].name))
			die("another first entry", seen[0].name);
	}
	closedir(a);
	closedir(b);
}

int main(int argc, char **argv)
{
	long room = argc == 4 ? atol(argv[2]) + 2 : 0;
	struct seen *seen = calloc((size_t)room + 1, sizeof(*seen));
	DIR *stream = argc == 4 ? opendir(argv[1]) : NULL;
	long count;

	if (!stream || !seen)
		die("cannot open", argc > 1 ? argv[1] : "usage: directories DIRECTORY ENTRIES SEED");
	srandom((unsigned)atol(argv[3]));
	count = read_all(stream, seen, room);
	if (count != room) {
		printf("fail: %ld entries, expected %ld\n", count, room);
		return 1;
	}
	check_unique(seen, count);
	check_seek(stream, seen, count, 3000);
	check_rewind(stream, seen);
	check_stat(dirfd(stream), seen, count, 3000);
	check_interleaved(argv[1], seen, count);
	printf("%ld entries\n", count);
	return 0;
}
