/* SPDX-License-Identifier: MIT */
/* The files that sequences read: the tree that is packed, and what lies beside the mount. */
#include "sequences.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct entry {
	const char *name;
	unsigned weight;
	char kind; /* f: bytes that do not compress; z: ones that do; h: a hole between two pieces; s: a script; d, l, =
		    */
	unsigned size, mode;
	const char *target;
};

static const struct entry entries[] = {
	{ "empty", 4, 'f', 0, 0644, NULL },
	{ "one", 3, 'f', 1, 0644, NULL },
	{ "small", 10, 'f', 100, 0644, NULL },
	{ "dir", 4, 'd', 0, 0755, NULL },
	{ "dir/sub", 3, 'd', 0, 0755, NULL },
	{ "dir/empty", 1, 'd', 0, 0700, NULL },
	{ "page", 3, 'f', 4096, 0644, NULL },
	{ "dir/less", 3, 'f', 4095, 0600, NULL },
	{ "dir/more", 3, 'f', 4097, 0644, NULL },
	{ "dir/8k", 10, 'f', 8000, 0644, NULL },
	{ "dir/text", 5, 'z', 50000, 0644, NULL },
	{ "dir/sub/20k", 6, 'f', 20011, 0444, NULL },
	{ "dir/sub/64k", 4, 'f', 65536, 0644, NULL },
	{ "dir/sub/130k", 3, 'f', 131073, 0644, NULL },
	{ "300k", 2, 'f', 300000, 0644, NULL },
	{ "hole", 3, 'h', 200000, 0644, NULL },
	{ "1m", 1, 'z', 1048576, 0644, NULL },
	{ "3m", 1, 'f', 3145735, 0644, NULL },
	{ "20m", 1, 'h', 20000000, 0644, NULL },
	{ "secret", 1, 'f', 500, 0, NULL },
	{ "script", 1, 's', 0, 0755, NULL },
	{ "hard", 2, '=', 0, 0, "small" },
	{ "in", 3, 'l', 0, 0, "dir/8k" },
	{ "dir/up", 3, 'l', 0, 0, "../small" },
	{ "chain", 2, 'l', 0, 0, "in" },
	{ "to-dir", 2, 'l', 0, 0, "dir" },
	{ "to-sub", 1, 'l', 0, 0, "dir/sub/" },
	{ "out", 2, 'l', 0, 0, "../outside/file" },
	{ "out-and-in", 2, 'l', 0, 0, "../outside/into" },
	{ "out-dir", 1, 'l', 0, 0, "../outside" },
	{ "dangling", 1, 'l', 0, 0, "missing" },
	{ "loop", 1, 'l', 0, 0, "loop" },
	{ "ping", 1, 'l', 0, 0, "dir/pong" },
	{ "dir/pong", 1, 'l', 0, 0, "../ping" },
	{ "self", 1, 'l', 0, 0, "." },
	{ "file-slash", 1, 'l', 0, 0, "small/" },
};

/* Names that stand for no entry of the tree, and where they lead. */
static const struct entry more_names[] = {
	{ "missing", 2, 0, 0, 0, NULL },
	{ "small/below", 1, 0, 0, 0, NULL },
	{ "to-dir/8k", 2, 0, 0, 0, NULL },
	{ "to-sub/64k", 1, 0, 0, 0, NULL },
	{ "out-dir/into", 1, 0, 0, 0, NULL },
	{ "out-dir/into-dir/8k", 1, 0, 0, 0, NULL },
	{ ".datasetfs/version", 1, 0, 0, 0, NULL },
	{ "../outside/file", 2, 0, 0, 0, NULL },
	{ "../outside/into", 2, 0, 0, 0, NULL },
	{ "../outside/absolute", 2, 0, 0, 0, NULL },
	{ "../outside/into-dir/more", 1, 0, 0, 0, NULL },
	{ "../outside/scratch", 2, 0, 0, 0, NULL },
	{ ".", 1, 0, 0, 0, NULL },
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define OUTSIDE_SIZE 5000u

static uint8_t *tree_bytes(const struct entry *entry)
{
	uint8_t *bytes = calloc(1, entry->size + 1u);
	uint64_t word = entry->size + 1;

	for (unsigned i = 0; bytes && i < entry->size; i++) {
		word = word * 6364136223846793005u + 1442695040888963407u;
		bytes[i] = entry->kind == 'z' ? (uint8_t) "words of a text \n"[(word >> 60) + i % 2] :
						(uint8_t)(word >> 56);
	}
	return bytes;
}

static bool tree_write(int fd, const struct entry *entry)
{
	static const char script[] = "#!/bin/sh\nexit 7\n";
	uint8_t *bytes = tree_bytes(entry);
	size_t piece = entry->size / 4;
	bool is_written;

	if (!bytes)
		return false;
	if (entry->kind == 's')
		is_written = write(fd, script, sizeof(script) - 1) > 0;
	else if (entry->kind == 'h')
		is_written = ftruncate(fd, entry->size) == 0 && pwrite(fd, bytes, piece, 0) == (ssize_t)piece &&
			     pwrite(fd, bytes, 1000, entry->size - 1000) == 1000;
	else
		is_written = write(fd, bytes, entry->size) == (ssize_t)entry->size;
	free(bytes);
	/* A user other than root cannot pack a file that he cannot read. */
	return is_written && fchmod(fd, entry->mode | (geteuid() == 0 ? 0 : 0400)) == 0;
}

static bool tree_add(int top, const struct entry *entry)
{
	bool is_written;
	int fd;

	switch (entry->kind) {
	case 'd':
		return mkdirat(top, entry->name, entry->mode) == 0;
	case 'l':
		return symlinkat(entry->target, top, entry->name) == 0;
	case '=':
		return linkat(top, entry->target, top, entry->name, 0) == 0;
	default:
		fd = openat(top, entry->name, O_CREAT | O_EXCL | O_WRONLY, 0600);
		is_written = fd >= 0 && tree_write(fd, entry);
		close(fd);
		return is_written;
	}
}

int tree_make(const char *directory)
{
	static const struct timespec times[2] = { { TREE_TIME, 111 }, { TREE_TIME, 222 } };
	int top = mkdir(directory, 0755) == 0 ? open(directory, O_RDONLY | O_DIRECTORY) : -1;

	for (unsigned i = 0; i < COUNT(entries); i++)
		if (!tree_add(top, &entries[i])) {
			fprintf(stderr, "sequences: cannot make '%s' in '%s': %s\n", entries[i].name, directory,
				strerror(errno));
			return 1;
		}
	for (unsigned i = 0; i < COUNT(entries); i++)
		utimensat(top, entries[i].name, times, AT_SYMLINK_NOFOLLOW);
	close(top);
	return 0;
}

static const char *any_name(void)
{
	unsigned total = 0;
	uint64_t at;

	for (unsigned i = 0; i < COUNT(entries); i++)
		total += entries[i].weight;
	for (unsigned i = 0; i < COUNT(more_names); i++)
		total += more_names[i].weight;
	at = choose(total);
	for (unsigned i = 0; i < COUNT(entries); i++) {
		if (at < entries[i].weight)
			return entries[i].name;
		at -= entries[i].weight;
	}
	for (unsigned i = 0;; i++) {
		if (at < more_names[i].weight)
			return more_names[i].name;
		at -= more_names[i].weight;
	}
}

/* A sequence comes back to a few files. */
void tree_choose(void)
{
	for (unsigned i = 0; i < POOL; i++)
		state.pool[i] = any_name();
	if (chance(80))
		state.pool[0] = "dir/8k";
}

static void outside_write(int outside)
{
	uint8_t bytes[OUTSIDE_SIZE];
	int fd = openat(outside, "file", O_CREAT | O_EXCL | O_WRONLY, 0644);

	for (unsigned i = 0; i < OUTSIDE_SIZE; i++)
		bytes[i] = (uint8_t)(i * 31 >> 3);
	if (fd < 0 || write(fd, bytes, sizeof(bytes)) != (ssize_t)sizeof(bytes) || fchmod(fd, 0644) != 0)
		perror("outside/file");
	close(fd);
}

static bool outside_knows(const char *name)
{
	static const char *const known[] = { ".", "..", "into", "into-dir", "absolute", "dir" };

	for (unsigned i = 0; i < COUNT(known); i++)
		if (strcmp(name, known[i]) == 0)
			return true;
	return false;
}

/* Makes what lies beside the mount, or puts it back: a sequence begins with the same files as any other. */
void outside_reset(void)
{
	char path[4200], target[4200];
	struct dirent *entry;
	DIR *listing;
	int outside;

	snprintf(path, sizeof(path), "%s/outside", state.top);
	snprintf(target, sizeof(target), "%s/mnt/small", state.top);
	mkdir(path, 0755);
	outside = open(path, O_RDONLY | O_DIRECTORY);
	mkdirat(outside, "dir", 0755);
	symlinkat("../mnt/dir/8k", outside, "into");
	symlinkat("../mnt/dir", outside, "into-dir");
	symlinkat(target, outside, "absolute");
	listing = fdopendir(dup(outside));
	while (listing && (entry = readdir(listing)))
		if (!outside_knows(entry->d_name) && unlinkat(outside, entry->d_name, 0) != 0)
			unlinkat(outside, entry->d_name, AT_REMOVEDIR);
	closedir(listing);
	outside_write(outside);
	close(outside);
	state.log->has_changes = false;
}
