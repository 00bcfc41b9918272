/* SPDX-License-Identifier: MIT */
/* Reads the files of a mount again and again, past the page cache, and compares them with the folder that it was made
 * of: see tests/nvme/fabric.py, where a process for each file would cost an emulated processor more than the file.
 *
 * usage: reread FOLDER SOURCE PROGRESS
 * Files of a block or more are read, as smaller ones are kept in the index. The file PROGRESS has their number so far.
 * Each one that cannot be read, or has other bytes, is a line "bad PATH: REASON". It pauses between files, and ends
 * when there is a file /run/enough. */
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define LEAST    4096
#define PAUSE_US 200000

static char room[128 << 10];

static void die(const char *about)
{
	perror(about);
	exit(1);
}

/* The reason why the bytes behind fd are wrong, or NULL. */
static const char *compare(int fd, const char *expected, size_t size)
{
	size_t done = 0;
	ssize_t got;

	while ((got = read(fd, room, sizeof(room))) > 0) {
		if ((size_t)got > size - done || memcmp(room, expected + done, (size_t)got))
			return "other bytes";
		done += (size_t)got;
	}
	if (got < 0)
		return strerror(errno);
	return done == size ? NULL : "too short";
}

static void read_again(const char *path, const char *source, size_t size)
{
	int original = open(source, O_RDONLY), fd;
	const char *wrong;
	char *expected;

	if (original < 0)
		die(source);
	expected = mmap(NULL, size, PROT_READ, MAP_PRIVATE, original, 0);
	if (expected == MAP_FAILED)
		die(source);
	fd = open(path, O_RDONLY);
	if (fd < 0) {
		wrong = strerror(errno);
	} else {
		posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
		wrong = compare(fd, expected, size);
		close(fd);
	}
	if (wrong)
		printf("bad %s: %s\n", path, wrong);
	munmap(expected, size);
	close(original);
}

static void note(int progress, unsigned count)
{
	char text[16];
	int length = snprintf(text, sizeof(text), "%u\n", count);

	if (pwrite(progress, text, (size_t)length, 0) != length)
		die("the file of the progress");
}

int main(int argc, char **argv)
{
	unsigned count = 0;
	char path[4096];
	int progress;
	FTSENT *file;
	FTS *tree;

	if (argc != 4)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	progress = open(argv[3], O_WRONLY | O_CREAT | O_TRUNC, 0644);
	if (progress < 0)
		die(argv[3]);
	while (true) {
		tree = fts_open((char *[]){argv[2], NULL}, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
		if (!tree)
			die(argv[2]);
		while ((file = fts_read(tree))) {
			if (file->fts_info != FTS_F || file->fts_statp->st_size < LEAST)
				continue;
			if (!access("/run/enough", F_OK))
				return 0;
			snprintf(path, sizeof(path), "%s%s", argv[1], file->fts_path + strlen(argv[2]));
			read_again(path, file->fts_path, (size_t)file->fts_statp->st_size);
			note(progress, ++count);
			usleep(PAUSE_US);
		}
		fts_close(tree);
	}
}
