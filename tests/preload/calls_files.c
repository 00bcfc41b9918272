/* SPDX-License-Identifier: MIT */
/* How a file is opened, names of descriptors, and streams. */
#include "calls.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <wchar.h>

int __open(const char *path, int flags, ...);
int __open64(const char *path, int flags, ...);
int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int directory, const char *path, int flags);
int __openat64_2(int directory, const char *path, int flags);
ssize_t __readlink_chk(const char *path, char *buffer, size_t size, size_t room);
ssize_t __readlinkat_chk(int fd, const char *path, char *buffer, size_t size, size_t room);
char *__realpath_chk(const char *path, char *buffer, size_t room);
int __xstat(int version, const char *path, struct stat *st);
int __xstat64(int version, const char *path, struct stat64 *st);
int __statfs(const char *path, struct statfs *found);
int __dprintf_chk(int fd, int flag, const char *format, ...);
int __vdprintf_chk(int fd, int flag, const char *format, va_list arguments);
FILE *_IO_fopen(const char *path, const char *mode);
int _IO_fclose(FILE *stream);
FILE *_IO_fdopen(int fd, const char *mode);
size_t __fread_chk(void *buffer, size_t room, size_t size, size_t count, FILE *stream);

/* path("%s/x", …): a text of its own each time, for a while. */
static const char *path(const char *format, ...)
{
	static char texts[8][PATH_MAX + 64];
	static unsigned turn;
	char *text = texts[turn++ % 8];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(texts[0]), format, arguments);
	va_end(arguments);
	return text;
}

/* The folder of the file, and the name in it. */
static const char *folder(void)
{
	return path("%.*s", (int)(strrchr(calls_file, '/') - calls_file), calls_file);
}

static const char *name(void)
{
	return strrchr(calls_file, '/') + 1;
}

/* Opens the name in the folder, by a descriptor of the folder. */
static long open_below(int flags, const char *below)
{
	int directory = open(folder(), O_RDONLY | O_DIRECTORY), fd = openat(directory, below, flags), error = errno;

	close(directory);
	errno = error;
	return calls_drain(fd);
}

static long open_here(const char *relative)
{
	char before[PATH_MAX];
	int fd, error;

	if (!getcwd(before, sizeof(before)) || chdir(folder()) < 0)
		return -2;
	fd = open(relative, O_RDONLY);
	error = errno;
	if (chdir(before) < 0)
		return -3;
	errno = error;
	return calls_drain(fd);
}

/* OPENS(FLAGS): by path. */
#define OPENS(open_flags) CALL("open " #open_flags, calls_drain(open(calls_file, open_flags, 0644)))

static void by_flags(void)
{
	OPENS(O_RDONLY | O_CLOEXEC)
	OPENS(O_RDONLY | O_NOFOLLOW)
	OPENS(O_RDONLY | O_NONBLOCK)
	OPENS(O_RDONLY | O_NOATIME)
	OPENS(O_RDONLY | O_NOCTTY)
	OPENS(O_RDONLY | O_LARGEFILE)
	OPENS(O_RDONLY | O_SYNC)
	OPENS(O_RDONLY | O_DSYNC)
	OPENS(O_RDONLY | O_APPEND)
	OPENS(O_RDONLY | O_ASYNC)
	OPENS(O_RDONLY | O_DIRECT)
	OPENS(O_RDONLY | O_DIRECTORY)
	OPENS(O_RDONLY | O_TRUNC)
	OPENS(O_RDONLY | O_CREAT)
	OPENS(O_RDONLY | O_CREAT | O_EXCL)
	OPENS(O_RDWR)
	OPENS(O_WRONLY)
	OPENS(O_ACCMODE)
	OPENS(O_PATH)
	OPENS(O_PATH | O_CLOEXEC)
	OPENS(O_TMPFILE | O_RDWR)
	CALL("open64", calls_drain(open64(calls_file, O_RDONLY)))
	CALL("__open", calls_drain(__open(calls_file, O_RDONLY)))
	CALL("__open64", calls_drain(__open64(calls_file, O_RDONLY)))
	CALL("__open_2", calls_drain(__open_2(calls_file, O_RDONLY)))
	CALL("__open64_2", calls_drain(__open64_2(calls_file, O_RDONLY)))
	CALL("__openat_2", calls_drain(__openat_2(AT_FDCWD, calls_file, O_RDONLY)))
	CALL("__openat64_2", calls_drain(__openat64_2(AT_FDCWD, calls_file, O_RDONLY)))
	CALL("creat", calls_drain(creat(calls_file, 0644)))
	CALL("openat", calls_drain(openat(AT_FDCWD, calls_file, O_RDONLY)))
	CALL("openat -5", calls_drain(openat(-5, calls_file, O_RDONLY)))
	CALL("openat64 of it", calls_drain(openat64(fd, calls_file, O_RDONLY)))
	CALL("openat below it", calls_drain(openat(fd, "name", O_RDONLY)))
	CALL("openat nothing of it", calls_drain(openat(fd, "", O_RDONLY)))
	CALL("openat nothing of it, O_PATH", calls_drain(openat(fd, "", O_PATH)))
}

static void by_names(void)
{
	CALL("open twice", calls_drain(open(calls_file, O_RDONLY)) + calls_drain(open(calls_file, O_RDONLY)))
	CALL("open the other", calls_drain(open(calls_other, O_RDONLY)))
	CALL("open no file", calls_drain(open(path("%s.none", calls_file), O_RDONLY)))
	CALL("open nothing", calls_drain(open("", O_RDONLY)))
	CALL("open a slash behind", calls_drain(open(path("%s/", calls_file), O_RDONLY)))
	CALL("open a dot behind", calls_drain(open(path("%s/.", calls_file), O_RDONLY)))
	CALL("open below", calls_drain(open(path("%s/name", calls_file), O_RDONLY)))
	CALL("open up below", calls_drain(open(path("%s/../%s", calls_file, name()), O_RDONLY)))
	CALL("open doubled slashes", calls_drain(open(path("%s//%s", folder(), name()), O_RDONLY)))
	CALL("open three in front", calls_drain(open(path("//%s", calls_file), O_RDONLY)))
	CALL("open dots", calls_drain(open(path("%s/./%s", folder(), name()), O_RDONLY)))
	CALL("open up and down", calls_drain(open(path("%s/../%s/%s", folder(), strrchr(folder(), '/') + 1, name()),
						  O_RDONLY)))
	CALL("open a long name", calls_drain(open(path("%s/%0300d", folder(), 1), O_RDONLY)))
	CALL("open the folder", calls_drain(open(folder(), O_RDONLY)))
	CALL("open in the folder", open_below(O_RDONLY, name()))
	CALL("open in the folder, CLOEXEC", open_below(O_RDONLY | O_CLOEXEC, name()))
	CALL("open in the folder, dots", open_below(O_RDONLY, path("./../%s/%s", strrchr(folder(), '/') + 1, name())))
	CALL("open in the folder, absolute", open_below(O_RDONLY, calls_other))
	CALL("open in the folder, nothing", open_below(O_RDONLY, ""))
	CALL("open here", open_here(name()))
	CALL("open here, a dot", open_here(path("./%s", name())))
	CALL("open here, up and down", open_here(path("../%s/%s", strrchr(folder(), '/') + 1, name())))
	CALL("open here, none", open_here("none"))
}

void calls_opens(void)
{
	by_flags();
	by_names();
}

/* The names that a descriptor has. */
static const char *number(const char *where, int fd)
{
	return path("%s/%d", where, fd);
}

static long resolved(char *found)
{
	if (!found)
		return -1;
	calls_note(found, strlen(found));
	free(found);
	return 0;
}

static void numbers_of(const char *where)
{
	char first[64];
#define NAMED(what, expression) \
	snprintf(first, sizeof(first), "%s %s", what, where); \
	CALL(first, expression)
	NAMED("open", calls_drain(open(number(where, fd), O_RDONLY)))
	NAMED("open O_RDWR", calls_drain(open(number(where, fd), O_RDWR)))
	NAMED("open O_NOFOLLOW", calls_drain(open(number(where, fd), O_RDONLY | O_NOFOLLOW)))
	NAMED("openat", calls_drain(openat(AT_FDCWD, number(where, fd), O_RDONLY)))
	NAMED("open below", calls_drain(open(path("%s/%d/x", where, fd), O_RDONLY)))
	NAMED("stat", stat(number(where, fd), (struct stat *)bytes))
	NAMED("stat64", stat64(number(where, fd), (struct stat64 *)bytes))
	NAMED("__xstat", __xstat(1, number(where, fd), (struct stat *)bytes))
	NAMED("__xstat64", __xstat64(1, number(where, fd), (struct stat64 *)bytes))
	NAMED("fstatat", fstatat(AT_FDCWD, number(where, fd), (struct stat *)bytes, 0))
	NAMED("statx", statx(AT_FDCWD, number(where, fd), 0, STATX_ALL, (struct statx *)bytes))
	NAMED("access", access(number(where, fd), R_OK))
	NAMED("access X_OK", access(number(where, fd), X_OK))
	NAMED("eaccess", eaccess(number(where, fd), W_OK))
	NAMED("euidaccess", euidaccess(number(where, fd), X_OK))
	NAMED("faccessat", faccessat(AT_FDCWD, number(where, fd), X_OK, 0))
	NAMED("readlink", readlink(number(where, fd), (char *)bytes, 4096))
	NAMED("__readlink_chk", __readlink_chk(number(where, fd), (char *)bytes, 4096, sizeof(bytes)))
	NAMED("readlinkat", readlinkat(AT_FDCWD, number(where, fd), (char *)bytes, 4096))
	NAMED("__readlinkat_chk", __readlinkat_chk(AT_FDCWD, number(where, fd), (char *)bytes, 4096, sizeof(bytes)))
	NAMED("realpath", resolved(realpath(number(where, fd), NULL)))
	NAMED("__realpath_chk", __realpath_chk(number(where, fd), (char *)bytes, sizeof(bytes)) ? 0 : -1)
	NAMED("canonicalize_file_name", resolved(canonicalize_file_name(number(where, fd))))
	NAMED("statfs", statfs(number(where, fd), (struct statfs *)bytes))
	NAMED("__statfs", __statfs(number(where, fd), (struct statfs *)bytes))
	NAMED("statfs64", statfs64(number(where, fd), (struct statfs64 *)bytes))
	NAMED("statvfs", statvfs(number(where, fd), (struct statvfs *)bytes))
	NAMED("statvfs64", statvfs64(number(where, fd), (struct statvfs64 *)bytes))
	NAMED("getxattr", getxattr(number(where, fd), "user.some", bytes, 100))
	NAMED("listxattr", listxattr(number(where, fd), (char *)bytes, 100))
	NAMED("chdir", chdir(number(where, fd)))
#undef NAMED
}

static long stream(FILE *file);

void calls_names(void)
{
	numbers_of("/proc/self/fd");
	numbers_of("/dev/fd");
	numbers_of("/proc/thread-self/fd");
	CALL("open /proc/PID/fd", calls_drain(open(path("/proc/%d/fd/%d", getpid(), fd), O_RDONLY)))
	CALL("open //proc/./self/fd", calls_drain(open(path("//proc/./self//fd/%d", fd), O_RDONLY)))
	CALL("open /proc/self/task", calls_drain(open(path("/proc/self/task/%d/fd/%d", gettid(), fd), O_RDONLY)))
	CALL("fopen /dev/fd", stream(fopen(path("/dev/fd/%d", fd), "r")))
	CALL("fopen64 /proc/self/fd", stream(fopen64(path("/proc/self/fd/%d", fd), "r")))
	CALL("freopen /dev/fd", stream(freopen(path("/dev/fd/%d", fd), "r", fopen("/dev/null", "r"))))
	CALL("freopen64 /dev/fd", stream(freopen64(path("/dev/fd/%d", fd), "r", fopen("/dev/null", "r"))))
}

/* Reads it in several ways and closes it. */
static long stream(FILE *file)
{
	char line[100] = "";
	long ret, at[2];
	int error;
	char *more = NULL;
	size_t room = 0;

	if (!file)
		return -1;
	at[0] = ftell(file);
	ret = fread(bytes + 4096, 1, 20, file);
	ret += getc(file) != EOF;
	ungetc('u', file);
	ret += fgets(line, sizeof(line), file) ? (long)strlen(line) : 0;
	ret += getline(&more, &room, file);
	fseek(file, 1, SEEK_CUR);
	ret += fread_unlocked(bytes + 8192, 1, 5000, file);
	ret += __fread_chk(bytes + 16384, 50000, 1, 5000, file);
	at[1] = ftello(file);
	ret = ferror(file) ? -1 : ret;
	error = errno;
	calls_note(at, sizeof(at));
	free(more);
	fclose(file);
	errno = error;
	return ret;
}

/* The stream leaves the descriptor where it has read to. */
static long flushed(FILE *file)
{
	long ret = -1;

	if (!file)
		return -2;
	if (fread(bytes, 1, 10, file) == 10 && fflush(file) == 0)
		ret = lseek(fileno(file), 0, SEEK_CUR);
	fclose(file);
	return ret;
}

/* The descriptor of a stream, used as one. */
static long number_of(FILE *file)
{
	long ret;

	if (!file)
		return -2;
	fread(bytes + 4096, 1, 10, file);
	ret = calls_drain(dup(fileno(file))) + lseek(fileno_unlocked(file), 3, SEEK_SET);
	ret += read(fileno(file), bytes + 5000, 10);
	fstat(fileno(file), (struct stat *)(bytes + 6000));
	fclose(file);
	return ret;
}

/* printed(FD, CHECKED, FORMAT, …) */
static int printed(int fd, bool checked, const char *format, ...)
{
	va_list arguments;
	int ret;

	va_start(arguments, format);
	ret = checked ? __vdprintf_chk(fd, 1, format, arguments) : vdprintf(fd, format, arguments);
	va_end(arguments);
	return ret;
}

/* A stream of wide characters, and what cannot be written to one. */
static long wide(FILE *file)
{
	long ret;

	if (!file)
		return -2;
	ret = fgetwc(file) + 1000000L * (fwide(file, 0) > 0);
	ret += fputc('x', file) + 1000 * ferror(file);
	fclose(file);
	return ret;
}

/* Standard input, when the file gets number 0. */
static long standard_input(void)
{
	int number;

	close(STDIN_FILENO);
	number = open(calls_file, O_RDONLY);
	calls_note(&number, sizeof(number));
	if (scanf("%50s", bytes + 100) < 0)
		return -1;
	return getchar() + fread(bytes + 300, 1, 500, stdin);
}

void calls_streams(void)
{
	CALL("fdopen", stream(fdopen(fd, "r")))
	CALL("_IO_fdopen", stream(_IO_fdopen(fd, "r")))
	CALL("fdopen rb", stream(fdopen(fd, "rbe")))
	CALL("fdopen w", stream(fdopen(fd, "w")))
	CALL("fdopen r+", stream(fdopen(fd, "r+")))
	CALL("fdopen a dup", stream(fdopen(dup(fd), "r")))
	CALL("fdopen, fflush", flushed(fdopen(fd, "r")))
	CALL("fdopen, fclose", fclose(fdopen(fd, "r")))
	CALL("fdopen, _IO_fclose", _IO_fclose(fdopen(fd, "r")))
	CALL("fopen", stream(fopen(calls_file, "r")))
	CALL("fopen64", stream(fopen64(calls_file, "r")))
	CALL("_IO_fopen", stream(_IO_fopen(calls_file, "r")))
	CALL("fopen mmap", stream(fopen(calls_file, "rm")))
	CALL("fopen r+", stream(fopen(calls_file, "r+")))
	CALL("fopen, flush", flushed(fopen(calls_file, "r")))
	CALL("fopen, fileno", number_of(fopen(calls_file, "r")))
	CALL("fdopen, fileno", number_of(fdopen(fd, "r")))
	CALL("fopen ccs", wide(fopen(calls_file, "r,ccs=UTF-8")))
	CALL("freopen", stream(freopen(calls_file, "r", fopen("/dev/null", "r"))))
	CALL("freopen none", stream(freopen(NULL, "r", fdopen(fd, "r"))))
	CALL("dprintf", dprintf(fd, "a text %d", 5))
	CALL("dprintf nothing", dprintf(fd, "%s", ""))
	CALL("__dprintf_chk nothing", __dprintf_chk(fd, 1, "%s", ""))
	CALL("vdprintf nothing", printed(fd, false, "%s", ""))
	CALL("__vdprintf_chk nothing", printed(fd, true, "%s", ""))
	CHILD("stdin", standard_input())
}
