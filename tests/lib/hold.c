/* SPDX-License-Identifier: MIT */
/* Preloaded into a program: reads by pread(2) wait, as for a device that does not answer.
 *   HOLD_VOLUME  of this file
 *   HOLD_WHILE   as long as this file is there, and says "FROM TO": of reads that touch these bytes. The file with
 *                ".held" behind its name is made when one begins to wait */
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static bool hold_is_volume(int fd)
{
	const char *path = getenv("HOLD_VOLUME");
	struct stat st, volume;

	return path && fstat(fd, &st) == 0 && stat(path, &volume) == 0 && volume.st_ino == st.st_ino &&
	       volume.st_dev == st.st_dev;
}

static bool hold_wants(const char *path, int64_t from, int64_t to)
{
	int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	long long held_from, held_to;
	char text[64] = "";
	bool wants;

	wants = fd >= 0 && syscall(SYS_read, fd, text, sizeof(text) - 1) > 0 &&
		sscanf(text, "%lld %lld", &held_from, &held_to) == 2 && from < held_to && to > held_from;
	if (fd >= 0)
		syscall(SYS_close, fd);
	return wants;
}

static void hold(int fd, int64_t from, int64_t to)
{
	const char *path = getenv("HOLD_WHILE");
	const struct timespec pause = { .tv_nsec = 2000000 };
	char held[4096];

	if (!path || !hold_is_volume(fd) || !hold_wants(path, from, to))
		return;
	snprintf(held, sizeof(held), "%s.held", path);
	syscall(SYS_close, syscall(SYS_openat, AT_FDCWD, held, O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
	while (hold_wants(path, from, to))
		nanosleep(&pause, NULL);
}

ssize_t pread(int fd, void *buffer, size_t length, off_t offset)
{
	hold(fd, offset, offset + (int64_t)length);
	return syscall(SYS_pread64, fd, buffer, length, offset);
}

ssize_t pread64(int fd, void *buffer, size_t length, off_t offset) __attribute__((alias("pread")));
