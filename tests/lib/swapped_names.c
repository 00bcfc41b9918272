/* SPDX-License-Identifier: MIT */
/* Preloaded into a program: plays somebody who may change names on the path to a volume,
 * and does it at the worst moment.
 *   SWAP_A, SWAP_B  names that change places, once; one of them may be missing
 *   SWAP_AT         before which call of the main thread that takes a path, from 1; 0 only counts
 *   SWAP_OPENED     instead: right after the first open of this file, whatever it was called
 *   SWAP_COUNT      a file that gets the number of calls at exit */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

static long calls, swap_at;
static bool is_done;

__attribute__((constructor)) static void swap_init(void)
{
	const char *at = getenv("SWAP_AT");

	swap_at = at ? atol(at) : 0;
}

__attribute__((destructor)) static void swap_report(void)
{
	const char *path = getenv("SWAP_COUNT");
	FILE *out;

	is_done = true;
	out = path ? fopen(path, "w") : NULL;
	if (!out)
		return;
	fprintf(out, "%ld\n", calls);
	fclose(out);
}

static void swap_rename(const char *from, const char *to)
{
	syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

static void swap_now(void)
{
	const char *a = getenv("SWAP_A"), *b = getenv("SWAP_B");
	char third[4096];

	if (is_done || !a || !b)
		return;
	is_done = true;
	snprintf(third, sizeof(third), "%s.swap", a);
	swap_rename(a, third);
	swap_rename(b, a);
	swap_rename(third, b);
}

/* Before each call. Other threads read the source, in an order of their own. */
static void swap_count(void)
{
	if (syscall(SYS_gettid) == getpid() && ++calls == swap_at)
		swap_now();
}

static int swap_opened(int fd)
{
	const char *path = getenv("SWAP_OPENED");
	struct stat opened, wanted;

	if (fd >= 0 && path && !is_done && fstat(fd, &opened) == 0 &&
	    syscall(SYS_newfstatat, AT_FDCWD, path, &wanted, 0) == 0 && opened.st_ino == wanted.st_ino &&
	    opened.st_dev == wanted.st_dev)
		swap_now();
	return fd;
}

static mode_t swap_mode(int flags, va_list ap)
{
	return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(ap, mode_t) : 0;
}

int openat(int folder, const char *path, int flags, ...)
{
	mode_t mode;
	va_list ap;

	va_start(ap, flags);
	mode = swap_mode(flags, ap);
	va_end(ap);
	swap_count();
	return swap_opened((int)syscall(SYS_openat, folder, path, flags, mode));
}

int open(const char *path, int flags, ...)
{
	mode_t mode;
	va_list ap;

	va_start(ap, flags);
	mode = swap_mode(flags, ap);
	va_end(ap);
	swap_count();
	return swap_opened((int)syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}

/* The names that programs built with 64-bit file offsets use. */
int open64(const char *path, int flags, ...) __attribute__((alias("open")));
int openat64(int folder, const char *path, int flags, ...) __attribute__((alias("openat")));

int fstatat(int folder, const char *path, struct stat *st, int flags)
{
	swap_count();
	return (int)syscall(SYS_newfstatat, folder, path, st, flags);
}

int stat(const char *path, struct stat *st)
{
	return fstatat(AT_FDCWD, path, st, 0);
}

int lstat(const char *path, struct stat *st)
{
	return fstatat(AT_FDCWD, path, st, AT_SYMLINK_NOFOLLOW);
}

int fstatat64(int folder, const char *path, struct stat64 *st, int flags) __attribute__((alias("fstatat")));
int stat64(const char *path, struct stat64 *st) __attribute__((alias("stat")));
int lstat64(const char *path, struct stat64 *st) __attribute__((alias("lstat")));

int statx(int folder, const char *path, int flags, unsigned mask, struct statx *stx)
{
	swap_count();
	return (int)syscall(SYS_statx, folder, path, flags, mask, stx);
}

char *realpath(const char *path, char *resolved)
{
	swap_count();
	return ((char *(*)(const char *, char *))dlsym(RTLD_NEXT, "realpath"))(path, resolved);
}

int access(const char *path, int mode)
{
	swap_count();
	return (int)syscall(SYS_faccessat, AT_FDCWD, path, mode);
}

ssize_t readlink(const char *path, char *target, size_t size)
{
	swap_count();
	return syscall(SYS_readlinkat, AT_FDCWD, path, target, size);
}

int statvfs(const char *path, struct statvfs *fs)
{
	swap_count();
	return ((int (*)(const char *, struct statvfs *))dlsym(RTLD_NEXT, "statvfs"))(path, fs);
}

int statvfs64(const char *path, struct statvfs64 *fs) __attribute__((alias("statvfs")));

int renameat(int from_folder, const char *from, int to_folder, const char *to)
{
	swap_count();
	return (int)syscall(SYS_renameat2, from_folder, from, to_folder, to, 0);
}

int rename(const char *from, const char *to)
{
	return renameat(AT_FDCWD, from, AT_FDCWD, to);
}

int linkat(int from_folder, const char *from, int to_folder, const char *to, int flags)
{
	swap_count();
	return (int)syscall(SYS_linkat, from_folder, from, to_folder, to, flags);
}

int unlinkat(int folder, const char *path, int flags)
{
	swap_count();
	return (int)syscall(SYS_unlinkat, folder, path, flags);
}

int unlink(const char *path)
{
	return unlinkat(AT_FDCWD, path, 0);
}

int rmdir(const char *path)
{
	return unlinkat(AT_FDCWD, path, AT_REMOVEDIR);
}
