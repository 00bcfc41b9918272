/* SPDX-License-Identifier: MIT */
/* Hooks read(2) and its family, and lseek(2). The kernel reports errors: a call that would fail makes the file real. */
#include <limits.h>

#include "preload/files/contents.h"
#include "preload/hooks/hook.h"
#include "preload/hooks/serving.h"
#include "preload/process/next.h"

/* --- at an offset --- */

/* Reads the parts at an offset; negative: the call is not served. */
static ssize_t read_at(struct table_file *file, const struct iovec *parts, int count, uint64_t offset)
{
	uint64_t end = offset;
	ssize_t total = 0, n;

	if (count < 0 || count > IOV_MAX)
		return -1;
	for (int i = 0; i < count; i++)
		if (__builtin_add_overflow(end, parts[i].iov_len, &end) || (parts[i].iov_len && !parts[i].iov_base))
			return -1;
	if (end > INT64_MAX)
		return -1;
	for (int i = 0; i < count; i++) {
		n = contents_read(file, parts[i].iov_base, parts[i].iov_len, offset + (uint64_t)total);
		if (n < 0)
			return -1;
		total += n;
	}
	return total;
}

/* --- of a descriptor --- */

/* Returns the file's position, which is the descriptor's with --compat. */
static int64_t read_position(const struct serving *serving)
{
	return serving->file->is_real ? next()->lseek(serving->fd, 0, SEEK_CUR) : (int64_t)serving->file->offset;
}

static bool read_move(struct serving *serving, int64_t offset)
{
	if (serving->file->is_real)
		return next()->lseek(serving->fd, offset, SEEK_SET) == offset;
	serving->file->offset = (uint64_t)offset;
	return true;
}

/* Is a cancellation point, as these calls are; lseek(2), fstat(2) and the rest are none. */
static void read_test_cancel(int fd)
{
	if (table_may_have(fd) && !inside_is)
		pthread_testcancel();
}

/* Ends a read. If the mount cannot read either, as the bytes are gone, it is served with EIO, as by the mount. */
static bool read_end(struct serving *serving, ssize_t result, const char *caller)
{
	return !serving_end(serving, result < 0 ? caller : NULL) || result >= 0;
}

/* Serves a read at the file's position; true: *ret is the result of the call. */
static bool read_serve(int fd, const struct iovec *parts, int count, const char *caller, ssize_t *ret)
{
	struct serving serving;
	int64_t offset;

	read_test_cancel(fd);
	if (!serving_begin(&serving, fd))
		return false;
	offset = read_position(&serving);
	*ret = offset < 0 ? -1 : read_at(serving.file, parts, count, (uint64_t)offset);
	if (*ret > 0 && !read_move(&serving, offset + *ret))
		*ret = -1;
	return read_end(&serving, *ret, caller);
}

static bool read_serve_at(int fd, const struct iovec *parts, int count, off_t offset, const char *caller,
			  ssize_t *ret)
{
	struct serving serving;

	read_test_cancel(fd);
	if (!serving_begin(&serving, fd))
		return false;
	*ret = offset < 0 ? -1 : read_at(serving.file, parts, count, (uint64_t)offset);
	return read_end(&serving, *ret, caller);
}

/* --- the hooks --- */

HOOK(read);
ssize_t hook_read(int fd, void *buffer, size_t size)
{
	const struct iovec part = { buffer, size };
	ssize_t n;

	return read_serve(fd, &part, 1, "read", &n) ? n : next()->read(fd, buffer, size);
}

HOOK(__read_chk);
ssize_t hook___read_chk(int fd, void *buffer, size_t size, size_t room)
{
	return size > room ? next()->__read_chk(fd, buffer, size, room) : read(fd, buffer, size);
}

HOOK(pread);
ssize_t hook_pread(int fd, void *buffer, size_t size, off_t offset)
{
	const struct iovec part = { buffer, size };
	ssize_t n;

	return read_serve_at(fd, &part, 1, offset, "pread", &n) ? n : next()->pread(fd, buffer, size, offset);
}

HOOK(__pread_chk);
ssize_t hook___pread_chk(int fd, void *buffer, size_t size, off_t offset, size_t room)
{
	return size > room ? next()->__pread_chk(fd, buffer, size, offset, room) : pread(fd, buffer, size, offset);
}

HOOK(readv);
ssize_t hook_readv(int fd, const struct iovec *parts, int count)
{
	ssize_t n;

	return read_serve(fd, parts, count, "readv", &n) ? n : next()->readv(fd, parts, count);
}

HOOK(preadv);
ssize_t hook_preadv(int fd, const struct iovec *parts, int count, off_t offset)
{
	ssize_t n;

	return read_serve_at(fd, parts, count, offset, "preadv", &n) ? n : next()->preadv(fd, parts, count, offset);
}

HOOK(preadv2);
ssize_t hook_preadv2(int fd, const struct iovec *parts, int count, off_t offset, int flags)
{
	off_t place = flags ? -2 : offset; /* with flags the kernel must serve the call */
	bool is_served;
	ssize_t n;

	is_served = place == -1 ? read_serve(fd, parts, count, "preadv2", &n) :
				  read_serve_at(fd, parts, count, place, "preadv2", &n);
	return is_served ? n : next()->preadv2(fd, parts, count, offset, flags);
}

/* Computes the new position; negative: the call is not served. */
static int64_t read_seek(const struct table_file *file, off_t offset, int whence)
{
	int64_t from = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? (int64_t)file->offset : (int64_t)file->size;
	int64_t to;

	if (whence != SEEK_SET && whence != SEEK_CUR && whence != SEEK_END)
		return -1;
	if (__builtin_add_overflow(from, offset, &to))
		return -1;
	return to;
}

HOOK(lseek);
off_t hook_lseek(int fd, off_t offset, int whence)
{
	struct serving serving;
	int64_t to;

	if (!serving_begin(&serving, fd))
		return next()->lseek(fd, offset, whence);
	if (serving.file->is_real) {
		to = next()->lseek(fd, offset, whence);
		serving.inside.code = to < 0 ? errno : serving.inside.code;
		serving_end(&serving, NULL);
		return to;
	}
	to = read_seek(serving.file, offset, whence);
	if (to >= 0)
		serving.file->offset = (uint64_t)to;
	serving_end(&serving, to < 0 ? "lseek" : NULL);
	return to < 0 ? next()->lseek(fd, offset, whence) : to;
}

HOOK_ALIAS(__read, read);
HOOK_ALIAS(pread64, pread);
HOOK_ALIAS(__pread64, pread);
HOOK_ALIAS(__pread64_chk, __pread_chk);
HOOK_ALIAS(preadv64, preadv);
HOOK_ALIAS(preadv64v2, preadv2);
HOOK_ALIAS(lseek64, lseek);
HOOK_ALIAS(__lseek, lseek);
HOOK_ALIAS(llseek, lseek);
