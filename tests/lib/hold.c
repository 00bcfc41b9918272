/* SPDX-License-Identifier: MIT */
/* Preloaded into a program: calls wait, as for a device that does not answer.
 *   HOLD_VOLUME  those for this file
 *   HOLD_WHILE   as long as this file is there, and says "FROM TO": pread(2) and preadv(2) of these bytes; "open":
 *                open(2) of a descriptor's path in /proc/self/fd; "keep": no more, but those that wait go on. The file
 *                with ".held" behind its name gets a byte for each that begins to wait */
#include <fcntl.h>
#include <stdbool.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define HOLD_OPEN INT64_C(-1)

static bool hold_is_volume(int fd)
{
	const char *path = getenv("HOLD_VOLUME");
	struct stat st, volume;

	return path && fstat(fd, &st) == 0 && stat(path, &volume) == 0 && volume.st_ino == st.st_ino &&
	       volume.st_dev == st.st_dev;
}

/* to HOLD_OPEN: it is an open(2). waits: it does already. */
static bool hold_wants(const char *path, int64_t from, int64_t to, bool waits)
{
	int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	long long held_from, held_to;
	char text[64] = "";
	bool wants;

	wants = fd >= 0 && syscall(SYS_read, fd, text, sizeof(text) - 1) > 0;
	if (fd >= 0)
		syscall(SYS_close, fd);
	if (wants && !strncmp(text, "keep", 4))
		return waits;
	if (!wants || to == HOLD_OPEN)
		return wants && !strncmp(text, "open", 4);
	return sscanf(text, "%lld %lld", &held_from, &held_to) == 2 && from < held_to && to > held_from;
}

static void hold(int fd, int64_t from, int64_t to)
{
	const char *path = getenv("HOLD_WHILE");
	const struct timespec pause = { .tv_nsec = 10000000 };
	char held[4096];
	long count;

	if (!path || !hold_is_volume(fd) || !hold_wants(path, from, to, false))
		return;
	snprintf(held, sizeof(held), "%s.held", path);
	count = syscall(SYS_openat, AT_FDCWD, held, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	syscall(SYS_write, count, "+", 1);
	syscall(SYS_close, count);
	while (hold_wants(path, from, to, true))
		nanosleep(&pause, NULL);
}

ssize_t pread(int fd, void *buffer, size_t length, off_t offset)
{
	hold(fd, offset, offset + (int64_t)length);
	return syscall(SYS_pread64, fd, buffer, length, offset);
}

ssize_t preadv(int fd, const struct iovec *iov, int count, off_t offset)
{
	int64_t length = 0;

	for (int i = 0; i < count; i++)
		length += (int64_t)iov[i].iov_len;
	hold(fd, offset, offset + length);
	return syscall(SYS_preadv, fd, iov, count, offset, 0);
}

int open(const char *path, int flags, ...)
{
	const char *number = path + strlen("/proc/self/fd/");
	va_list list;
	int mode;

	va_start(list, flags);
	mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(list, int) : 0;
	va_end(list);
	if (!strncmp(path, "/proc/self/fd/", strlen("/proc/self/fd/")))
		hold(atoi(number), 0, HOLD_OPEN);
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int open64(const char *path, int flags, ...) __attribute__((alias("open")));

ssize_t pread64(int fd, void *buffer, size_t length, off_t offset) __attribute__((alias("pread")));
ssize_t preadv64(int fd, const struct iovec *iov, int count, off_t offset) __attribute__((alias("preadv")));
