/* SPDX-License-Identifier: MIT */
/* Calls that are answered from memory: reads, seeks, attributes, flags. */
#include "calls.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <termios.h>
#include <unistd.h>

/* Functions that headers declare only for checked or old programs. */
ssize_t __read(int fd, void *buffer, size_t size);
ssize_t __read_chk(int fd, void *buffer, size_t size, size_t room);
ssize_t __pread64(int fd, void *buffer, size_t size, off_t offset);
ssize_t __pread_chk(int fd, void *buffer, size_t size, off_t offset, size_t room);
ssize_t __pread64_chk(int fd, void *buffer, size_t size, off_t offset, size_t room);
off_t __lseek(int fd, off_t offset, int whence);
int __close(int fd);
int __fcntl(int fd, int command, ...);
int __fxstat(int version, int fd, struct stat *st);
int __fxstat64(int version, int fd, struct stat64 *st);
int __fxstatat(int version, int fd, const char *name, struct stat *st, int flags);
int __fxstatat64(int version, int fd, const char *name, struct stat64 *st, int flags);

/* Sizes that the compiler may not know. */
static volatile int minus = -1;
static volatile size_t most = 0x7fffffff, too_much = SIZE_MAX;

static long in_parts(int fd)
{
	size_t done = 0;
	ssize_t got;

	for (size_t part = 1; (got = read(fd, bytes + done, part)) > 0; part = part % 5000 + 37) {
		done += got;
		if (done + 5037 > sizeof(bytes))
			break;
	}
	return got < 0 ? got : (long)done;
}

/* So near to its end that all of the rest has room. */
static int tail(int fd)
{
	lseek(fd, calls_size > 1000 ? -1000 : 0, SEEK_END);
	return fd;
}


static struct iovec *parts(int count)
{
	static struct iovec items[1025];
	size_t at = 0;

	for (int i = 0; i < count; i++) {
		size_t size = i % 4 * 11;
		items[i] = (struct iovec) { bytes + at, size };
		at += size + 1;
	}
	return items;
}

static struct iovec *bad_parts(void)
{
	struct iovec *items = parts(2);

	items[1].iov_len = SIZE_MAX;
	return items;
}

static void whole_reads(void)
{
	CALL("read", read(fd, bytes, 1000))
	CALL("read nothing", read(fd, bytes, 0))
	CALL("read all", read(fd, bytes, sizeof(bytes)))
	CALL("read 2 GiB at the end", read(tail(fd), bytes, most))
	CALL("read -1", read(fd, bytes, too_much))
	CALL("read in parts", in_parts(fd))
	CALL("read twice", read(fd, bytes, 100) + read(fd, bytes + 100, sizeof(bytes) - 100))
	CALL("read behind the end", (lseek(fd, 10, SEEK_END), read(fd, bytes, 100)))
	CALL("__read", __read(fd, bytes, 1000))
	CALL("__read_chk", __read_chk(fd, bytes, 1000, sizeof(bytes)))
	CHILD("__read_chk too much", __read_chk(fd, bytes, 1000, 10))
	CALL("pread", pread(fd, bytes, 1000, 0))
	CALL("pread 5", pread(fd, bytes, 1000, 5))
	CALL("pread the end", pread(fd, bytes, 1000, calls_size - calls_size / 10))
	CALL("pread at the end", pread(fd, bytes, 1000, calls_size))
	CALL("pread behind the end", pread(fd, bytes, 1000, calls_size + 1))
	CALL("pread at -1", pread(fd, bytes, 1000, -1))
	CALL("pread far away", pread(fd, bytes, 1000, INT64_MAX))
	CALL("pread far away, nothing", pread(fd, bytes, 0, INT64_MAX))
	CALL("pread nothing", pread(fd, bytes, 0, 3))
	CALL("pread -1", pread(fd, bytes, too_much, 3))
	CALL("pread64", pread64(fd, bytes, 1000, 4))
	CALL("__pread64", __pread64(fd, bytes, 1000, 4))
	CALL("__pread_chk", __pread_chk(fd, bytes, 1000, 4, sizeof(bytes)))
	CALL("__pread64_chk", __pread64_chk(fd, bytes, 1000, 4, sizeof(bytes)))
}

static void vector_reads(void)
{
	CALL("readv", readv(fd, parts(9), 9))
	CALL("readv none", readv(fd, parts(0), 0))
	CALL("readv -1", readv(fd, parts(1), minus))
	CALL("readv 1024", readv(fd, parts(1024), 1024))
	CALL("readv 1025", readv(fd, parts(1025), 1025))
	CALL("readv a bad one", readv(fd, bad_parts(), 2))
	CALL("preadv", preadv(fd, parts(9), 9, 3))
	CALL("preadv at -1", preadv(fd, parts(9), 9, -1))
	CALL("preadv behind the end", preadv(fd, parts(9), 9, calls_size + 1))
	CALL("preadv64", preadv64(fd, parts(9), 9, 3))
	CALL("preadv2", preadv2(fd, parts(9), 9, 3, 0))
	CALL("preadv2 at -1", preadv2(fd, parts(9), 9, -1, 0))
	CALL("preadv2 at -2", preadv2(fd, parts(9), 9, -2, 0))
	CALL("preadv2 RWF_HIPRI", preadv2(fd, parts(9), 9, 3, RWF_HIPRI))
	CALL("preadv2 RWF_APPEND", preadv2(fd, parts(9), 9, 3, RWF_APPEND))
	CALL("preadv2 unknown", preadv2(fd, parts(9), 9, 3, 1 << 30))
	CALL("preadv64v2", preadv64v2(fd, parts(9), 9, -1, 0))
}

static void seeks(void)
{
	CALL("lseek SET", lseek(fd, 5, SEEK_SET))
	CALL("lseek SET the end", lseek(fd, calls_size, SEEK_SET))
	CALL("lseek SET behind", lseek(fd, calls_size + 100, SEEK_SET))
	CALL("lseek SET -1", lseek(fd, -1, SEEK_SET))
	CALL("lseek SET far", lseek(fd, INT64_MAX, SEEK_SET))
	CALL("lseek CUR", lseek(fd, 5, SEEK_CUR))
	CALL("lseek CUR -3", lseek(fd, -3, SEEK_CUR))
	CALL("lseek CUR far", lseek(fd, INT64_MAX, SEEK_CUR))
	CALL("lseek END", lseek(fd, 0, SEEK_END))
	CALL("lseek END -5", lseek(fd, -5, SEEK_END))
	CALL("lseek END far", lseek(fd, INT64_MAX, SEEK_END))
	CALL("lseek END far back", lseek(fd, INT64_MIN, SEEK_END))
	CALL("lseek DATA", lseek(fd, 3, SEEK_DATA))
	CALL("lseek DATA the end", lseek(fd, calls_size, SEEK_DATA))
	CALL("lseek DATA -1", lseek(fd, -1, SEEK_DATA))
	CALL("lseek HOLE", lseek(fd, 3, SEEK_HOLE))
	CALL("lseek HOLE the end", lseek(fd, calls_size, SEEK_HOLE))
	CALL("lseek unknown", lseek(fd, 0, 99))
	CALL("lseek -1", lseek(fd, 0, -1))
	CALL("lseek64", lseek64(fd, 5, SEEK_SET))
	CALL("__lseek", __lseek(fd, 5, SEEK_CUR))
}

void calls_reads(void)
{
	whole_reads();
	vector_reads();
	seeks();
}

static void attributes(void)
{
	CALL("fstat", fstat(fd, (struct stat *)bytes))
	CALL("fstat64", fstat64(fd, (struct stat64 *)bytes))
	CALL("__fxstat", __fxstat(1, fd, (struct stat *)bytes))
	CALL("__fxstat 0", __fxstat(0, fd, (struct stat *)bytes))
	CALL("__fxstat 9", __fxstat(9, fd, (struct stat *)bytes))
	CALL("__fxstat64", __fxstat64(1, fd, (struct stat64 *)bytes))
	CALL("fstatat", fstatat(fd, "", (struct stat *)bytes, AT_EMPTY_PATH))
	CALL("fstatat64", fstatat64(fd, "", (struct stat64 *)bytes, AT_EMPTY_PATH))
	CALL("fstatat AT_NO_AUTOMOUNT", fstatat(fd, "", (struct stat *)bytes, AT_EMPTY_PATH | AT_NO_AUTOMOUNT))
	CALL("fstatat AT_SYMLINK_NOFOLLOW", fstatat(fd, "", (struct stat *)bytes, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW))
	CALL("fstatat unknown", fstatat(fd, "", (struct stat *)bytes, AT_EMPTY_PATH | 1))
	CALL("fstatat without a name", fstatat(fd, "", (struct stat *)bytes, 0))
	CALL("fstatat below", fstatat(fd, "name", (struct stat *)bytes, 0))
	CALL("fstatat a path", fstatat(fd, calls_other, (struct stat *)bytes, AT_EMPTY_PATH))
	CALL("__fxstatat", __fxstatat(1, fd, "", (struct stat *)bytes, AT_EMPTY_PATH))
	CALL("__fxstatat64", __fxstatat64(1, fd, "", (struct stat64 *)bytes, AT_EMPTY_PATH))
	CALL("statx", statx(fd, "", AT_EMPTY_PATH, STATX_ALL, (struct statx *)bytes))
	CALL("statx basic", statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, (struct statx *)bytes))
	CALL("statx nothing", statx(fd, "", AT_EMPTY_PATH, 0, (struct statx *)bytes))
	CALL("statx force", statx(fd, "", AT_EMPTY_PATH | AT_STATX_FORCE_SYNC, STATX_ALL, (struct statx *)bytes))
	CALL("statx unknown", statx(fd, "", AT_EMPTY_PATH, 1u << 31, (struct statx *)bytes))
	CALL("statx a path", statx(fd, calls_other, AT_EMPTY_PATH, STATX_ALL, (struct statx *)bytes))
	CALL("statx below", statx(fd, "name", 0, STATX_ALL, (struct statx *)bytes))
}

static long set_flags(int fd, int flags)
{
	return fcntl(fd, F_SETFL, flags) < 0 ? -1 : fcntl(fd, F_GETFL);
}

static long set_fd_flags(int fd, int flags)
{
	return fcntl(fd, F_SETFD, flags) < 0 ? -1 : fcntl(fd, F_GETFD);
}

static long lock(int fd, int command, short type)
{
	struct flock lock = { .l_type = type, .l_whence = SEEK_CUR, .l_start = 1, .l_len = 5 };
	long ret = fcntl(fd, command, &lock);

	calls_note(&lock, sizeof(lock));
	return ret;
}

static void flags(void)
{
	CALL("F_GETFD", fcntl(fd, F_GETFD))
	CALL("F_SETFD FD_CLOEXEC", set_fd_flags(fd, FD_CLOEXEC))
	CALL("F_SETFD off", (fcntl(fd, F_SETFD, FD_CLOEXEC), set_fd_flags(fd, 0)))
	CALL("F_GETFL", fcntl(fd, F_GETFL))
	CALL("F_SETFL O_NONBLOCK", set_flags(fd, O_NONBLOCK))
	CALL("F_SETFL O_APPEND", set_flags(fd, O_APPEND))
	CALL("F_SETFL O_NOATIME", set_flags(fd, O_NOATIME))
	CALL("F_SETFL O_DIRECT", set_flags(fd, O_DIRECT))
	CALL("F_SETFL O_RDWR", set_flags(fd, O_RDWR))
	CALL("F_DUPFD", calls_drain(fcntl(fd, F_DUPFD, 50)))
	CALL("F_DUPFD_CLOEXEC", calls_drain(fcntl(fd, F_DUPFD_CLOEXEC, 50)))
	CALL("F_DUPFD far", calls_drain(fcntl(fd, F_DUPFD, INT_MAX)))
	CALL("F_GETLK", lock(fd, F_GETLK, F_RDLCK))
	CALL("F_SETLK read", lock(fd, F_SETLK, F_RDLCK))
	CALL("F_SETLK write", lock(fd, F_SETLK, F_WRLCK))
	CALL("F_SETLKW read", lock(fd, F_SETLKW, F_RDLCK))
	CALL("F_OFD_SETLK read", lock(fd, F_OFD_SETLK, F_RDLCK))
	CALL("F_OFD_GETLK", lock(fd, F_OFD_GETLK, F_RDLCK))
	CALL("F_GETOWN", fcntl(fd, F_GETOWN))
	CALL("F_GETSIG", fcntl(fd, F_GETSIG))
	CALL("F_GETLEASE", fcntl(fd, F_GETLEASE))
	CALL("F_SETLEASE", fcntl(fd, F_SETLEASE, F_RDLCK))
	CALL("F_NOTIFY", fcntl(fd, F_NOTIFY, DN_ACCESS))
	CALL("F_GETPIPE_SZ", fcntl(fd, F_GETPIPE_SZ))
	CALL("F_GET_SEALS", fcntl(fd, F_GET_SEALS))
	CALL("F_ADD_SEALS", fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE))
	CALL("F_GET_RW_HINT", fcntl(fd, F_GET_RW_HINT, bytes))
	CALL("fcntl unknown", fcntl(fd, 9999, 0))
	CALL("fcntl64 F_GETFL", fcntl64(fd, F_GETFL))
	CALL("__fcntl F_GETFL", __fcntl(fd, F_GETFL))
	CALL("__fcntl F_DUPFD", calls_drain(__fcntl(fd, F_DUPFD, 40)))
}

/* FICLONE and its kin: the second descriptor is in the argument. */
static long clone_range(int fd)
{
	struct file_clone_range range = { .src_fd = fd, .src_length = 4096 };
	int scratch = calls_scratch();

	return calls_scratch_end(scratch, ioctl(scratch, FICLONERANGE, &range));
}

static long clone_file(int fd)
{
	int scratch = calls_scratch();

	return calls_scratch_end(scratch, ioctl(scratch, FICLONE, fd));
}

static void controls(void)
{
	CALL("TCGETS", ioctl(fd, TCGETS, bytes))
	CALL("FIONREAD", ioctl(fd, FIONREAD, bytes))
	CALL("FIOCLEX", (ioctl(fd, FIOCLEX), fcntl(fd, F_GETFD)))
	CALL("FIONCLEX", (fcntl(fd, F_SETFD, FD_CLOEXEC), ioctl(fd, FIONCLEX), fcntl(fd, F_GETFD)))
	CALL("FIONBIO", (ioctl(fd, FIONBIO, &(int) { 1 }), fcntl(fd, F_GETFL)))
	CALL("FIOASYNC", ioctl(fd, FIOASYNC, &(int) { 1 }))
	CALL("FIOQSIZE", ioctl(fd, FIOQSIZE, bytes))
	CALL("FIGETBSZ", ioctl(fd, FIGETBSZ, bytes))
	CALL("FIBMAP", ioctl(fd, FIBMAP, bytes))
	CALL("FS_IOC_GETFLAGS", ioctl(fd, FS_IOC_GETFLAGS, bytes))
	CALL("FS_IOC_FSGETXATTR", ioctl(fd, FS_IOC_FSGETXATTR, bytes))
	CALL("TIOCGWINSZ", ioctl(fd, TIOCGWINSZ, bytes))
	CALL("BLKGETSIZE64", ioctl(fd, BLKGETSIZE64, bytes))
	CALL("ioctl unknown", ioctl(fd, 0x12345, bytes))
	CALL("FICLONE of it", clone_file(fd))
	CALL("FICLONERANGE of it", clone_range(fd))
	CALL("FICLONE to it", ioctl(fd, FICLONE, fd))
	CALL("isatty", isatty(fd))
	CALL("posix_fadvise", posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL))
	CALL("posix_fadvise WILLNEED", posix_fadvise(fd, 0, 100, POSIX_FADV_WILLNEED))
	CALL("posix_fadvise DONTNEED", posix_fadvise(fd, 5, 100, POSIX_FADV_DONTNEED))
	CALL("posix_fadvise unknown", posix_fadvise(fd, 0, 0, 99))
	CALL("posix_fadvise -1", posix_fadvise(fd, 0, -1, POSIX_FADV_NORMAL))
	CALL("posix_fadvise64", posix_fadvise64(fd, 0, 0, POSIX_FADV_RANDOM))
	CALL("close", close(fd))
	CALL("close twice", (close(fd), close(fd)))
	CALL("__close", __close(fd))
}

void calls_control(void)
{
	attributes();
	flags();
	controls();
}
