/* SPDX-License-Identifier: MIT */
/* Calls of sequences that read, seek and try to write. */
#include "sequences.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

ssize_t __read_chk(int fd, void *buffer, size_t size, size_t room);
ssize_t __pread_chk(int fd, void *buffer, size_t size, off_t offset, size_t room);
ssize_t __pread64_chk(int fd, void *buffer, size_t size, off64_t offset, size_t room);

static void check_behind(const uint8_t *buffer, size_t size, const char *what)
{
	for (unsigned i = 0; i < 64 && size < 70000; i++)
		if (buffer[size + i] != 0xa5) {
			log_line("%s wrote behind the buffer", what);
			return;
		}
}

static void read_next(void)
{
	static const char *const names[] = { "read", "__read_chk", "SYS_read" };
	int fd = choose_regular();
	unsigned kind = (unsigned)choose(3);
	size_t size = choose_size();
	uint8_t *buffer = choose_buffer(size);
	ssize_t result;

	errno = 0;
	if (kind == 0)
		result = read(fd, buffer, size);
	else if (kind == 1)
		result = __read_chk(fd, buffer, size, ROOM);
	else
		result = syscall(SYS_read, fd, buffer, size);
	log_bytes(result, buffer, "%s(%d, %zu)", names[kind], fd, size);
	check_behind(buffer, size, names[kind]);
}

static void read_to_end(void)
{
	int fd = choose_regular();
	uint64_t hash = 0, total = 0;
	ssize_t result;

	while ((result = read(fd, state.buffer, 70000)) > 0 && total < (64u << 20)) {
		hash = log_hash(hash, state.buffer, (size_t)result);
		total += (uint64_t)result;
	}
	log_result(result, "read(%d) to the end: %llu bytes #%08x", fd, (unsigned long long)total, (unsigned)hash);
}

static void read_at(void)
{
	static const char *const names[] = { "pread", "pread64", "__pread_chk", "__pread64_chk", "SYS_pread64" };
	int fd = choose_regular();
	int64_t offset = choose_offset(fd);
	unsigned kind = (unsigned)choose(5);
	size_t size = choose_size();
	uint8_t *buffer = choose_buffer(size);
	ssize_t result = -1;

	errno = 0;
	switch (kind) {
	case 0:
		result = pread(fd, buffer, size, offset);
		break;
	case 1:
		result = pread64(fd, buffer, size, offset);
		break;
	case 2:
		result = __pread_chk(fd, buffer, size, offset, ROOM);
		break;
	case 3:
		result = __pread64_chk(fd, buffer, size, offset, ROOM);
		break;
	case 4:
		result = syscall(SYS_pread64, fd, buffer, size, offset);
	}
	log_bytes(result, buffer, "%s(%d, %zu, %lld)", names[kind], fd, size, (long long)offset);
	check_behind(buffer, size, names[kind]);
}

/* Pieces beside each other, so that their bytes are seen as one; some of no length, some too long. */
static int any_pieces(struct iovec *pieces, int most, uint8_t *buffer)
{
	int count = (int)choose((uint64_t)most) + 1;
	size_t at = 0;

	for (int i = 0; i < count; i++) {
		pieces[i].iov_len = chance(15) ? 0 : choose(chance(30) ? 20000 : 500);
		pieces[i].iov_base = buffer + at;
		at += pieces[i].iov_len;
	}
	if (chance(3))
		pieces[choose((uint64_t)count)].iov_len = SIZE_MAX - 10;
	switch (choose(40)) {
	case 0:
		return 0;
	case 1:
		return -1;
	case 2:
		return IOV_MAX + 1;
	default:
		return count;
	}
}

static void read_pieces(void)
{
	static const char *const names[] = { "readv",      "preadv",    "preadv64",   "preadv2",
					     "preadv64v2", "SYS_readv", "SYS_preadv", "SYS_preadv2" };
	static const int flag_words[] = { 0, 0, 0, RWF_HIPRI, RWF_DSYNC, RWF_APPEND, 0x4000 };
	static struct iovec pieces[IOV_MAX + 1];
	int fd = choose_regular();
	int64_t offset = choose_offset(fd);
	unsigned kind = (unsigned)choose(8);
	int count = any_pieces(pieces, 12, state.buffer), flags = flag_words[choose(7)];
	ssize_t result = -1;

	errno = 0;
	switch (kind) {
	case 0:
		result = readv(fd, pieces, count);
		break;
	case 1:
		result = preadv(fd, pieces, count, offset);
		break;
	case 2:
		result = preadv64(fd, pieces, count, offset);
		break;
	case 3:
		result = preadv2(fd, pieces, count, offset, flags);
		break;
	case 4:
		result = preadv64v2(fd, pieces, count, offset, flags);
		break;
	case 5:
		result = syscall(SYS_readv, fd, pieces, count);
		break;
	case 6:
		result = syscall(SYS_preadv, fd, pieces, count, offset, 0);
		break;
	case 7:
		result = syscall(SYS_preadv2, fd, pieces, count, offset, 0, flags);
	}
	log_bytes(result, state.buffer, "%s(%d, %d pieces, %lld, %#x)", names[kind], fd, count, (long long)offset,
		  flags);
}

static void seek(void)
{
	static const char *const names[] = { "lseek", "lseek64", "SYS_lseek" };
	static const int whences[] = { SEEK_SET, SEEK_SET,  SEEK_CUR,  SEEK_CUR, SEEK_END,
				       SEEK_END, SEEK_DATA, SEEK_HOLE, 5,        -1 };
	int fd = choose_regular(), whence = whences[choose(10)];
	int64_t offset = chance(25) ? 0 : choose_offset(fd), result = -1;
	unsigned kind = (unsigned)choose(3);

	errno = 0;
	if (kind == 0)
		result = lseek(fd, offset, whence);
	else if (kind == 1)
		result = lseek64(fd, offset, whence);
	else
		result = syscall(SYS_lseek, fd, offset, whence);
	log_result(result, "%s(%d, %lld, %d)", names[kind], fd, (long long)offset, whence);
}

/* A file of the mount refuses as a file that was opened for reading does. */
static void write_something(void)
{
	static const char *const names[] = { "write",    "pwrite",    "writev",      "pwritev",
					     "pwritev2", "ftruncate", "ftruncate64", "SYS_write" };
	struct iovec piece = { .iov_base = (void *)(uintptr_t) "abcdefgh", .iov_len = choose(9) };
	int fd = choose_descriptor();
	unsigned kind = (unsigned)choose(8);
	int64_t offset = (int64_t)choose(3000), result = -1;

	if (fd == 0 || !may_change(fd))
		return;
	errno = 0;
	switch (kind) {
	case 0:
		result = write(fd, piece.iov_base, piece.iov_len);
		break;
	case 1:
		result = pwrite(fd, piece.iov_base, piece.iov_len, offset);
		break;
	case 2:
		result = writev(fd, &piece, 1);
		break;
	case 3:
		result = pwritev(fd, &piece, 1, offset);
		break;
	case 4:
		result = pwritev2(fd, &piece, 1, offset, 0);
		break;
	case 5:
		result = ftruncate(fd, offset);
		break;
	case 6:
		result = ftruncate64(fd, offset);
		break;
	case 7:
		result = syscall(SYS_write, fd, piece.iov_base, piece.iov_len);
	}
	log_result(result, "%s(%d, %zu, %lld)", names[kind], fd, piece.iov_len, (long long)offset);
}

const struct call calls_read[] = {
	{ "read", 30, read_next }, { "to-end", 12, read_to_end },
	{ "pread", 20, read_at },  { "pieces", 14, read_pieces },
	{ "lseek", 22, seek },     { "write", 6, write_something },
	{ NULL, 0, NULL },
};
