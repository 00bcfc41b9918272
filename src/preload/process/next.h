/* SPDX-License-Identifier: MIT */
/* Owns the functions that the program would call without us: another preloaded library's, or the C library's. */
#pragma once
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

ssize_t __read_chk(int fd, void *buffer, size_t size, size_t room);
ssize_t __pread_chk(int fd, void *buffer, size_t size, off_t offset, size_t room);
int __open_2(const char *path, int flags);
int __openat_2(int directory, const char *path, int flags);
int __fxstat(int version, int fd, struct stat *ret);

/* Versions of struct stat that __fxstat() knows: _STAT_VER_KERNEL, which is 0, and on x86-64 _STAT_VER_LINUX too. */
#ifdef __x86_64__
#define FXSTAT_VERSIONS 2
#else
#define FXSTAT_VERSIONS 1
#endif

#define NEXT_CALLS(CALL) \
	CALL(open) CALL(openat) CALL(__open_2) CALL(__openat_2) CALL(close) CALL(read) CALL(pread) CALL(readv) \
	CALL(preadv) CALL(preadv2) CALL(lseek) CALL(__read_chk) CALL(__pread_chk) CALL(fstat) CALL(__fxstat) \
	CALL(fcntl) CALL(ioctl) CALL(isatty) CALL(posix_fadvise) CALL(dup) CALL(dup2) CALL(dup3) CALL(close_range) \
	CALL(closefrom) CALL(poll) CALL(fileno) CALL(fopen) CALL(freopen) CALL(fclose)

struct next {
#define NEXT_MEMBER(name) __typeof__(name) *name;
	NEXT_CALLS(NEXT_MEMBER)
#undef NEXT_MEMBER
};

extern struct next next_calls;
extern bool next_is_known;

void next_find(void);
/* Returns the next function of that name after ours, as RTLD_NEXT finds it, or NULL. */
void *next_behind(const char *name);
/* Returns next_behind(name) or, if a caller loaded by dlopen(3) has the function from libraries that only it sees, that
 * one. from: return address of the call. Never NULL. */
void *next_of(const char *name, const void *from);

/* Returns the table of these functions, as in next()->read(...). May be called before our constructor has run, as
 * constructors of other libraries run first. */
static inline const struct next *next(void)
{
	if (__builtin_expect(!next_is_known, 0))
		next_find();
	return &next_calls;
}
