/* SPDX-License-Identifier: MIT */
/* Reads and writes a volume in a file or on a block device, past the page cache if possible. */
#include "io/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/direct.h"
#include "base/round.h"
#include "base/transfer.h"
#include "io/full.h"

#define BOUNCE_SIZE (1u << 20)

static struct file_source *file_of(struct source *source)
{
	return (struct file_source *)source;
}

static bool is_aligned(uint64_t offset, const void *buffer, size_t length)
{
	return offset % DIRECT_ALIGN == 0 && (uintptr_t)buffer % DIRECT_ALIGN == 0 && length % DIRECT_ALIGN == 0;
}

static int file_pread(int fd, uint64_t offset, uint8_t *buffer, size_t length, struct error *err)
{
	ssize_t n = transfer_read_at(fd, buffer, length, offset);

	if (n < 0)
		return error_errno(err, "read of %zu bytes at offset %" PRIu64, length, offset);
	if ((size_t)n < length)
		return error_set(err, -ENODATA,
				 "read of %zu bytes at offset %" PRIu64 ": the volume ends after %zd of them", length,
				 offset, n);
	return 0;
}

/* The part below the limit gets written first; the rest may be an unaligned length, which fails with EINVAL. */
static bool file_is_limited(int code, uint64_t end, uint64_t *ret)
{
	struct rlimit limit;

	if ((code != EFBIG && code != EINVAL) || getrlimit(RLIMIT_FSIZE, &limit) < 0)
		return false;
	*ret = limit.rlim_cur;
	return *ret < end;
}

static int file_refuse_write(int fd, uint64_t offset, size_t length, struct error *err)
{
	int code = errno;
	char full[FULL_TEXT_SIZE];
	uint64_t limit;

	if (code == EBADE) /* NVMe: reservation conflict */
		return error_set(err, -EBADE,
				 "write of %zu bytes at offset %" PRIu64
				 ": refused by the device, another host has it reserved", length, offset);
	if (file_is_limited(code, offset + length, &limit))
		return error_set(err, -EFBIG, "write of %zu bytes at offset %" PRIu64 ": files of this process may not "
				 "be larger than %" PRIu64 " bytes (ulimit -f)", length, offset, limit);
	if (full_is(code)) {
		full_describe(fd, code, full);
		return error_set(err, -code, "%s: write of %zu bytes at offset %" PRIu64, full, length, offset);
	}
	errno = code;
	return error_errno(err, "write of %zu bytes at offset %" PRIu64, length, offset);
}

static int file_pwrite(int fd, uint64_t offset, const uint8_t *buffer, size_t length, struct error *err)
{
	return transfer_write_at(fd, buffer, length, offset) < 0 ? file_refuse_write(fd, offset, length, err) : 0;
}

/* Reads any range with direct I/O: whole blocks around the wanted bytes go through an aligned buffer. */
static int file_read_bounced(int fd, uint64_t offset, uint8_t *buffer, size_t length, struct error *err)
{
	auto_free uint8_t *bounce = aligned_alloc(DIRECT_ALIGN, BOUNCE_SIZE);
	int r;

	if (!bounce)
		return error_no_memory(err);
	while (length) {
		uint64_t start = round_down(offset, DIRECT_ALIGN);
		size_t skip = (size_t)(offset - start);
		size_t part = length < BOUNCE_SIZE - skip ? length : BOUNCE_SIZE - skip;

		r = file_pread(fd, start, bounce, round_up(skip + part, DIRECT_ALIGN), err);
		if (r < 0)
			return r;
		memcpy(buffer, bounce + skip, part);
		buffer += part;
		offset += part;
		length -= part;
	}
	return 0;
}

static int file_check_member(uint32_t member, struct error *err)
{
	return member ? error_set(err, -EINVAL, "read of member %" PRIu32 ": the volume has one member", member) : 0;
}

static int64_t file_patience(const struct file_source *file)
{
	int64_t now = clock_now(), since = file->silent_since ? atomic_load(file->silent_since) : 0, left;

	if (!since || now >= file->inherited_until)
		return file->patience;
	left = file->patience - (now - since);
	return left > FILE_PATIENCE_LEAST ? left : FILE_PATIENCE_LEAST;
}

static struct timed_read_setup file_reader(const struct file_source *file, uint64_t offset, const void *buffer,
					   size_t length)
{
	bool is_bounced = file_is_direct(&file->geometry) && !is_aligned(offset, buffer, length);

	return (struct timed_read_setup){ is_bounced ? file_read_bounced : file_pread, file->fd, file_patience(file) };
}

/* Notes that a read begins, unless an earlier one waits for an answer. */
static void file_ask(const struct file_source *file)
{
	int64_t none = 0;

	if (file->silent_since)
		atomic_compare_exchange_strong(file->silent_since, &none, clock_now());
}

/* Notes how a read ended, and returns that. */
static int file_hear(const struct file_source *file, int r)
{
	if (file->silent_since && r != -ETIMEDOUT)
		atomic_store(file->silent_since, 0);
	return r;
}

static int file_read(struct source *source, uint32_t member, uint64_t offset, void *buffer, size_t length,
		     struct error *err)
{
	struct file_source *file = file_of(source);
	const struct timed_read_setup reader = file_reader(file, offset, buffer, length);
	int r = file_check_member(member, err);

	if (r < 0)
		return r;
	if (!file->patience)
		return reader.read(file->fd, offset, buffer, length, err);
	file_ask(file);
	return file_hear(file, timed_read(&reader, offset, buffer, length, err));
}

/* Callers without a time limit need no thread, so the read completes here. */
static int file_begin_part(struct source *source, struct source_part *part, struct error *err)
{
	struct file_source *file = file_of(source);
	const struct timed_read_setup reader = file_reader(file, part->offset, part->buffer, part->length);
	struct timed_read *timed = NULL;
	int r = file_check_member(part->member, err);

	if (r < 0)
		return r;
	if (!file->patience)
		return reader.read(file->fd, part->offset, part->buffer, part->length, err);
	file_ask(file);
	r = timed_read_begin(&reader, part->offset, part->length, &timed, err);
	part->pending = timed;
	return r < 0 ? file_hear(file, r) : 0;
}

static int file_end_part(struct source *source, struct source_part *part, struct error *err)
{
	return file_hear(file_of(source), timed_read_end(part->pending, part->buffer, err));
}

/* Copies an unaligned buffer. Offset and length must be aligned by the caller. */
static int file_write(struct source *source, uint32_t member, uint64_t offset, const void *buffer, size_t length,
		      struct error *err)
{
	struct file_source *file = file_of(source);
	auto_free uint8_t *bounce = NULL;

	if (member != 0)
		return error_set(err, -EINVAL, "write to member %" PRIu32 ": the volume has one member", member);
	if (!file->geometry.is_direct || is_aligned(offset, buffer, length))
		return file_pwrite(file->fd, offset, buffer, length, err);
	if (offset % DIRECT_ALIGN || length % DIRECT_ALIGN)
		return error_set(err, -EINVAL, "write of %zu bytes at offset %" PRIu64 " is not in whole blocks",
				 length, offset);
	bounce = aligned_alloc(DIRECT_ALIGN, length);
	if (!bounce)
		return error_no_memory(err);
	memcpy(bounce, buffer, length);
	return file_pwrite(file->fd, offset, bounce, length, err);
}

static int file_flush(struct source *source, struct error *err)
{
	struct file_source *file = file_of(source);

	if (fdatasync(file->fd) < 0)
		return error_errno(err, "flush");
	if (!file->geometry.is_direct) /* later reads must come from the medium */
		posix_fadvise(file->fd, 0, 0, POSIX_FADV_DONTNEED);
	return 0;
}

static uint64_t file_size(struct source *source, uint32_t member)
{
	struct file_source *file = file_of(source);
	uint64_t size;
	struct stat st;

	if (member != 0)
		return 0;
	if (file_is_block_device(&file->geometry)) {
		if (ioctl(file->fd, BLKGETSIZE64, &size) == 0)
			__atomic_store_n(&file->geometry.size, round_down(size, DIRECT_ALIGN), __ATOMIC_RELAXED);
	} else if (fstat(file->fd, &st) == 0) {
		__atomic_store_n(&file->geometry.size, (uint64_t)st.st_size, __ATOMIC_RELAXED);
	}
	return file_last_size(&file->geometry);
}

void file_note(struct file_geometry *geometry, const struct file_geometry *now)
{
	__atomic_store_n(&geometry->is_block_device, now->is_block_device, __ATOMIC_RELAXED);
	__atomic_store_n(&geometry->is_direct, now->is_direct, __ATOMIC_RELAXED);
	__atomic_store_n(&geometry->size, now->size, __ATOMIC_RELAXED);
}

static const struct source_ops file_ops = {
	.read = file_read,
	.begin_part = file_begin_part,
	.end_part = file_end_part,
	.write = file_write,
	.flush = file_flush,
	.size = file_size,
};

static int file_check_kind(mode_t mode, struct error *err)
{
	if (S_ISDIR(mode))
		return error_set(err, -EINVAL, "it is a directory, neither a regular file nor a block device: "
				 "name the volume in it, and VOLUME before any other folder");
	if (!S_ISREG(mode) && !S_ISBLK(mode))
		return error_set(err, -EINVAL, "neither a regular file nor a block device, expected a volume");
	return 0;
}

static int file_measure(int fd, struct file_geometry *geometry, struct error *err)
{
	struct stat st;
	int sector = 0, r;

	if (fstat(fd, &st) < 0)
		return error_errno(err, "fstat");
	r = file_check_kind(st.st_mode, err);
	if (r < 0)
		return r;
	geometry->logical_block = DIRECT_ALIGN;
	geometry->size = (uint64_t)st.st_size;
	geometry->is_block_device = S_ISBLK(st.st_mode);
	if (geometry->is_block_device) {
		if (ioctl(fd, BLKGETSIZE64, &geometry->size) < 0 || ioctl(fd, BLKSSZGET, &sector) < 0)
			return error_errno(err, "cannot get the size of the block device");
		if (sector != 512 && sector != DIRECT_ALIGN)
			return error_set(err, -EOPNOTSUPP, "its logical blocks have %d bytes, expected 512 or 4096: "
					 "attach or format the device with one of these", sector);
		geometry->logical_block = (uint32_t)sector;
	}
	geometry->size = round_down(geometry->size, DIRECT_ALIGN);
	return 0;
}

/* The kernel opens a read-only device for writing and only then refuses the writes. */
static int file_check_writable(int fd, const struct file_geometry *geometry, struct error *err)
{
	int read_only = 0;

	if (geometry->is_block_device && ioctl(fd, BLKROGET, &read_only) == 0 && read_only)
		return error_set(err, -EROFS, "it is read-only or write-protected");
	return 0;
}

enum file_use file_use(int fd)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	if (fcntl(fd, F_OFD_GETLK, &lock) < 0 || lock.l_type == F_RDLCK)
		return FILE_USE_UNKNOWN;
	return lock.l_type == F_WRLCK ? FILE_USE_WRITTEN : FILE_USE_NONE;
}

#define FILE_AT_WORK "another publisher is at work, try again when it has ended"

static int file_refuse_locked(int fd, struct error *err)
{
	if (errno != EWOULDBLOCK)
		return error_errno(err, "lock");
	if (file_use(fd) == FILE_USE_WRITTEN)
		return error_set(err, -EBUSY, FILE_AT_WORK);
	return error_set(err, -EBUSY,
			 "the kernel has it mounted, or a program that does not publish has it locked: 'losetup -a' "
			 "and 'lslocks' show it, try again when it has ended");
}

/* Lets in one publisher: O_EXCL guards a device (and refuses a mounted one), flock() a file. A device gets no flock(),
 * because a user with read access could take it first. The F_OFD_SETLK lock excludes no process: file_use() looks for
 * it. An unnamed file is locked already, for the time when it gets its name. */
static int file_claim(struct site *site, int fd, enum file_mode mode, bool is_device, struct error *err)
{
	struct flock shown = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	if (!is_device && flock(fd, LOCK_EX | LOCK_NB) < 0)
		return file_refuse_locked(fd, err);
	(void)!fcntl(fd, F_OFD_SETLK, &shown);
	/* Its former holder may have removed or replaced the file between open and lock. */
	return is_device || mode == FILE_UNNAMED ? 0 : site_name(site, fd, err);
}

/* Sets O_DIRECT after creating the file: open(2) with O_CREAT and O_DIRECT creates it and then fails if the
 * filesystem has no direct I/O. */
static int file_make_fd(const struct site *site, enum file_mode mode, bool *ret_direct, int *ret_fd, struct error *err)
{
	int r = mode == FILE_CREATE ? site_create(site, ret_fd, err) : site_create_unnamed(site, ret_fd, err);

	if (r == 0)
		*ret_direct = fcntl(*ret_fd, F_SETFL, O_DIRECT) == 0;
	return r;
}

/* Explains O_EXCL's refusal of a device. A publisher is recognised by its lock if it opened the same node. */
static int file_refuse_claimed(const struct site *site, struct error *err)
{
	auto_close int fd = -1;

	if (site_open(site, O_RDONLY, &fd, NULL) == 0 && file_use(fd) == FILE_USE_WRITTEN)
		return error_set(err, -EBUSY, FILE_AT_WORK);
	return error_set(err, -EBUSY, "it is mounted or another publisher has it open: 'lsblk' and 'fuser' show who, "
			 "try again when it has ended");
}

/* Checks the type before opening, because opening a FIFO waits for its other end, and opening a tape drive rewinds
 * it. */
static int file_open_fd(const struct site *site, enum file_mode mode, bool *ret_direct, int *ret_fd, struct error *err)
{
	int flags = mode == FILE_READ ? O_RDONLY : O_RDWR;
	struct error why = { 0 };
	struct stat st;
	int r;

	if (fstat(site->file, &st) < 0)
		return error_errno(err, "fstat");
	r = file_check_kind(st.st_mode, err);
	if (r < 0)
		return r;
	if (mode == FILE_WRITE && S_ISBLK(st.st_mode))
		flags |= O_EXCL;
	r = site_open(site, flags | O_DIRECT, ret_fd, &why);
	*ret_direct = r == 0;
	if (r == -EINVAL) /* e.g. an old tmpfs */
		r = site_open(site, flags, ret_fd, &why);
	if (r == -EBUSY)
		return file_refuse_claimed(site, err);
	return r < 0 ? error_pass(err, r, &why) : 0;
}

static int file_new(int fd, const struct file_geometry *geometry, struct file_source **ret, struct error *err)
{
	struct file_source *file = calloc(1, sizeof(*file));

	if (!file)
		return error_no_memory(err);
	file->source.ops = &file_ops;
	file->geometry = *geometry;
	file->fd = fd;
	*ret = file;
	return 0;
}

int file_open_site(struct site *site, enum file_mode mode, struct file_source **ret, struct error *err)
{
	bool is_new = mode == FILE_CREATE || mode == FILE_UNNAMED, direct = false;
	auto_close int fd = -1;
	struct file_geometry geometry = { 0 };
	int r;

	r = is_new ? file_make_fd(site, mode, &direct, &fd, err) : file_open_fd(site, mode, &direct, &fd, err);
	if (r < 0)
		return r;
	geometry.is_direct = direct;
	r = file_measure(fd, &geometry, err);
	if (r == 0 && mode != FILE_READ)
		r = file_check_writable(fd, &geometry, err);
	if (r == 0 && mode != FILE_READ)
		r = file_claim(site, fd, mode, geometry.is_block_device, err);
	if (r == 0)
		r = file_new(fd, &geometry, ret, err);
	if (r == 0)
		(void)take_fd(&fd);
	return r;
}

int file_adopt(int fd, struct file_source **ret, struct error *err)
{
	struct file_geometry geometry = { 0 };
	int flags = fcntl(fd, F_GETFL), r;

	if (flags < 0)
		return error_errno(err, "F_GETFL");
	if ((flags & O_ACCMODE) != O_RDONLY)
		return error_set(err, -EPROTO, "it is open with the flags %#x, expected O_RDONLY", flags);
	geometry.is_direct = flags & O_DIRECT;
	r = file_measure(fd, &geometry, err);
	return r < 0 ? r : file_new(fd, &geometry, ret, err);
}

int file_open(const char *path, enum file_mode mode, struct file_source **ret, struct error *err)
{
	struct site site;
	int r = site_find(path, &site, err);

	if (r < 0)
		return r;
	r = file_open_site(&site, mode, ret, err);
	site_close(&site);
	return r;
}

void file_close(struct file_source *file)
{
	if (!file)
		return;
	close(file->fd);
	free(file);
}
