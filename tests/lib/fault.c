/* SPDX-License-Identifier: MIT */
/* Preloaded into a program: counts calls of one kind and fails the Nth.
 *   FAULT_KIND    alloc, read, write, flush, grow (space reserved for a file), seek (for data), directory (a flush of
 *                 one, whatever FAULT_VOLUME is) or name (a rename, of whatever)
 *   FAULT_AT      which call fails, from 1; 0 only counts
 *   FAULT_TIMES   how many calls in a row fail, 1 when not set
 *   FAULT_STOP    a read, write, flush or rename does not fail: the process stops itself (SIGSTOP) and then goes on
 *   FAULT_IN      server or supervisor: only this process of datasetfs(8) counts and fails
 *   FAULT_VOLUME  all but alloc, directory and name count on this file, or on these, A,B,C; with FAULT_OTHER=1 on
 *                 every other regular file
 *   FAULT_FROM    reads at lower offsets neither count nor fail
 *   FAULT_TO      reads that touch no byte from FAULT_FROM up to here neither count nor fail
 *   FAULT_CODE    errno of a read, EIO when not set
 *   FAULT_WHILE   nothing counts or fails while this file is missing
 *   FAULT_SEEN    a file that is made when the first call fails
 *   FAULT_COUNT   a file that gets the number of calls at exit
 *   FAULT_BYTES   and one that gets the bytes of the reads that counted */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *p, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

static atomic_long calls, bytes;
static long fail_at, fail_times, fail_from, fail_to;
static int read_code;
static char kind; /* first letter of FAULT_KIND */
static bool other, stops, is_other_process;
static const char *only_while, *seen;

/* A server is told the number of its socket (src/supervisor/message.h). */
static bool fault_is_elsewhere(void)
{
	const char *in = getenv("FAULT_IN");

	return in && strcmp(in, getenv("DATASETFS_SUPERVISOR") ? "server" : "supervisor") != 0;
}

__attribute__((constructor)) static void fault_init(void)
{
	const char *at = getenv("FAULT_AT"), *what = getenv("FAULT_KIND"), *times = getenv("FAULT_TIMES");
	const char *from = getenv("FAULT_FROM"), *to = getenv("FAULT_TO"), *code = getenv("FAULT_CODE");

	other = getenv("FAULT_OTHER") != NULL;
	only_while = getenv("FAULT_WHILE");
	seen = getenv("FAULT_SEEN");
	stops = getenv("FAULT_STOP") != NULL;
	fail_at = at ? atol(at) : 0;
	fail_times = times ? atol(times) : 1;
	fail_from = from ? atol(from) : 0;
	fail_to = to ? atol(to) : 0;
	read_code = code ? atoi(code) : EIO;
	is_other_process = fault_is_elsewhere();
	kind = what && !is_other_process ? what[0] : 0;
}

static void fault_store(const char *variable, const atomic_long *number)
{
	const char *path = getenv(variable);
	int fd = path ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666) : -1, length;
	char text[32];

	if (fd < 0)
		return;
	length = snprintf(text, sizeof(text), "%ld\n", atomic_load(number));
	syscall(SYS_write, fd, text, length);
	close(fd);
}

__attribute__((destructor)) static void fault_report(void)
{
	if (is_other_process)
		return;
	kind = 0;
	fault_store("FAULT_COUNT", &calls);
	fault_store("FAULT_BYTES", &bytes);
}

static bool fault_now(void)
{
	long call;

	if (only_while && access(only_while, F_OK) < 0)
		return false;
	call = atomic_fetch_add(&calls, 1) + 1;
	if (call == fail_at && seen)
		syscall(SYS_close, syscall(SYS_openat, AT_FDCWD, seen, O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
	return fail_at && call >= fail_at && call < fail_at + fail_times;
}

/* Some libraries crash themselves without memory: OpenSSL 3.0 takes a lock that it could not allocate. */
static bool fault_is_excused(const void *caller)
{
	Dl_info info;

	return dladdr(caller, &info) && info.dli_fname &&
	       (strstr(info.dli_fname, "libcrypto") || strstr(info.dli_fname, "ld-linux"));
}

static bool fault_alloc(const void *caller)
{
	if (kind != 'a' || fault_is_excused(caller) || !fault_now())
		return false;
	errno = ENOMEM;
	return true;
}

static bool fault_is_of_volume(const struct stat *st, const char *paths)
{
	char path[PATH_MAX];
	struct stat member;

	for (size_t length; *paths; paths += length + (paths[length] == ',')) {
		length = strcspn(paths, ",");
		if ((size_t)snprintf(path, sizeof(path), "%.*s", (int)length, paths) < sizeof(path) &&
		    stat(path, &member) == 0 && member.st_ino == st->st_ino && member.st_dev == st->st_dev)
			return true;
	}
	return false;
}

static bool fault_is_watched(int fd)
{
	const char *paths = getenv("FAULT_VOLUME");
	struct stat st;

	if (fstat(fd, &st) < 0 || (!S_ISREG(st.st_mode) && !S_ISBLK(st.st_mode)) || !paths)
		return false;
	return fault_is_of_volume(&st, paths) != other;
}

static bool fault_fails(int error)
{
	if (!fault_now())
		return false;
	if (stops) {
		raise(SIGSTOP);
		return false;
	}
	errno = error;
	return true;
}

static bool fault_io(char what, int fd, int error)
{
	return kind == what && fault_is_watched(fd) && fault_fails(error);
}

void *malloc(size_t size)
{
	return fault_alloc(__builtin_return_address(0)) ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
	return fault_alloc(__builtin_return_address(0)) ? NULL : __libc_calloc(count, size);
}

void *realloc(void *p, size_t size)
{
	return fault_alloc(__builtin_return_address(0)) ? NULL : __libc_realloc(p, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
	return fault_alloc(__builtin_return_address(0)) ? NULL : __libc_memalign(alignment, size);
}

int posix_memalign(void **ret, size_t alignment, size_t size)
{
	if (fault_alloc(__builtin_return_address(0)))
		return ENOMEM;
	*ret = __libc_memalign(alignment, size);
	return *ret ? 0 : ENOMEM;
}

static bool fault_read(int fd, off_t offset, size_t length)
{
	bool touches = fail_to ? offset < fail_to && offset + (off_t)length > fail_from : offset >= fail_from;

	if (!touches || kind != 'r' || !fault_is_watched(fd))
		return false;
	atomic_fetch_add(&bytes, (long)length);
	return fault_fails(read_code);
}

static size_t fault_length(const struct iovec *iov, int count)
{
	size_t length = 0;

	for (int i = 0; i < count; i++)
		length += iov[i].iov_len;
	return length;
}

ssize_t pread(int fd, void *buffer, size_t length, off_t offset)
{
	return fault_read(fd, offset, length) ? -1 : syscall(SYS_pread64, fd, buffer, length, offset);
}

/* libblkid's. */
ssize_t read(int fd, void *buffer, size_t length)
{
	off_t offset = syscall(SYS_lseek, fd, 0, SEEK_CUR);

	return fault_read(fd, offset, length) ? -1 : syscall(SYS_read, fd, buffer, length);
}

ssize_t preadv(int fd, const struct iovec *iov, int count, off_t offset)
{
	return fault_read(fd, offset, fault_length(iov, count)) ? -1 : syscall(SYS_preadv, fd, iov, count, offset, 0);
}

ssize_t pwrite(int fd, const void *buffer, size_t length, off_t offset)
{
	return fault_io('w', fd, ENOSPC) ? -1 : syscall(SYS_pwrite64, fd, buffer, length, offset);
}

/* The names that programs built with 64-bit file offsets use. */
ssize_t pread64(int fd, void *buffer, size_t length, off_t offset) __attribute__((alias("pread")));
ssize_t preadv64(int fd, const struct iovec *iov, int count, off_t offset) __attribute__((alias("preadv")));
ssize_t pwrite64(int fd, const void *buffer, size_t length, off_t offset) __attribute__((alias("pwrite")));

ssize_t write(int fd, const void *buffer, size_t length)
{
	return fault_io('w', fd, ENOSPC) ? -1 : syscall(SYS_write, fd, buffer, length);
}

off_t lseek(int fd, off_t offset, int whence)
{
	return whence == SEEK_DATA && fault_io('s', fd, EOPNOTSUPP) ? -1 : syscall(SYS_lseek, fd, offset, whence);
}

off_t lseek64(int fd, off_t offset, int whence) __attribute__((alias("lseek")));

int fsync(int fd)
{
	struct stat st;

	if (kind == 'd' && fstat(fd, &st) == 0 && S_ISDIR(st.st_mode) && fault_now()) {
		errno = EIO;
		return -1;
	}
	return (int)syscall(SYS_fsync, fd);
}

int renameat(int from, const char *old, int to, const char *new)
{
	return kind == 'n' && fault_fails(EIO) ? -1 : (int)syscall(SYS_renameat2, from, old, to, new, 0);
}

int fdatasync(int fd)
{
	return fault_io('f', fd, EIO) ? -1 : (int)syscall(SYS_fdatasync, fd);
}

/* Its result is the error. */
int posix_fallocate(int fd, off_t offset, off_t length)
{
	if (fault_io('g', fd, ENOSPC))
		return ENOSPC;
	return syscall(SYS_fallocate, fd, 0, offset, length) < 0 ? errno : 0;
}

int posix_fallocate64(int fd, off_t offset, off_t length) __attribute__((alias("posix_fallocate")));

int fallocate(int fd, int mode, off_t offset, off_t length)
{
	if (!(mode & FALLOC_FL_PUNCH_HOLE) && fault_io('g', fd, ENOSPC))
		return -1;
	return (int)syscall(SYS_fallocate, fd, mode, offset, length);
}

int fallocate64(int fd, int mode, off_t offset, off_t length) __attribute__((alias("fallocate")));
