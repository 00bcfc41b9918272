/* SPDX-License-Identifier: MIT */
/* Opens unnamed files if the filesystem supports that; otherwise unlinks files at once. */
#include "spill/temp.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fdname.h"
#include "base/same.h"
#include "base/transfer.h"

/* Opens a file that never has a name, so it leaves nothing behind, however we end. */
static int temp_open_unnamed(int directory)
{
	return openat(directory, ".", O_TMPFILE | O_RDWR | O_EXCL | O_CLOEXEC, 0600);
}

/* The directory is new, so it is ours alone: mkdirat(2) fails if the name exists. */
int temp_make_directory(int parent, char name[TEMP_NAME_SIZE], struct stat *ret, struct error *err)
{
	uint64_t number;

	do {
		if (getrandom(&number, sizeof(number), 0) < 0)
			return error_errno(err, "cannot get random bytes");
		snprintf(name, TEMP_NAME_SIZE, "mkdatasetfs.%016" PRIx64, number);
		if (mkdirat(parent, name, 0700) == 0)
			return fstatat(parent, name, ret, AT_SYMLINK_NOFOLLOW) < 0 ? error_errno(err, "stat") : 0;
	} while (errno == EEXIST);
	return error_errno(err, "cannot create a temporary directory");
}

int temp_remove_directory(int parent, const char *name, const struct stat *made, struct error *err)
{
	struct stat st;

	if (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && !same_file(&st, made))
		return error_set(err, -ESTALE, "another one took the name of the temporary directory '%s'", name);
	return unlinkat(parent, name, AT_REMOVEDIR) < 0 ?
		       error_errno(err, "cannot remove the temporary directory '%s'", name) : 0;
}

/* Makes a directory for files that must have a name at first; a scan leaves it out. */
static int temp_make_own(struct temp *temp, struct error *err)
{
	struct stat made, st;
	int r = temp_make_directory(temp->parent, temp->own, &made, err);

	if (r < 0)
		return error_wrap(err, r, "'%s'", temp->name);
	temp->device = made.st_dev;
	temp->inode = made.st_ino;
	temp->fd = openat(temp->parent, temp->own, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (temp->fd < 0 || fstat(temp->fd, &st) < 0)
		return error_errno(err, "cannot open temporary directory '%s/%s'", temp->name, temp->own);
	if (!same_file(&st, &made))
		return error_set(err, -ESTALE, "another one took the name of the temporary directory '%s/%s'",
				 temp->name, temp->own);
	return 0;
}

static int temp_start(struct temp *temp, struct error *err)
{
	auto_close int probe = temp_open_unnamed(temp->parent);

	if (probe < 0)
		return temp_make_own(temp, err);
	temp->fd = fcntl(temp->parent, F_DUPFD_CLOEXEC, 0);
	return temp->fd < 0 ? error_errno(err, "dup") : 0;
}

/* Prepares temporary files in a directory. Takes ownership of the directory's descriptor. */
static int temp_open_in(int *folder, const char *name, struct temp **ret, struct error *err)
{
	struct temp *temp = calloc(1, sizeof(*temp));
	int r;

	if (!temp)
		return error_no_memory(err);
	temp->fd = -1;
	temp->parent = take_fd(folder);
	snprintf(temp->name, sizeof(temp->name), "%s", name);
	r = temp_start(temp, err);
	if (r < 0) {
		temp_close(temp);
		return r;
	}
	*ret = temp;
	return 0;
}

int temp_open(const char *path, struct temp **ret, struct error *err)
{
	auto_close int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return error_errno(err, "cannot create a temporary directory in '%s'", path);
	return temp_open_in(&fd, path, ret, err);
}

int temp_open_folder(int folder, struct temp **ret, struct error *err)
{
	auto_close int fd = fcntl(folder, F_DUPFD_CLOEXEC, 0);
	char name[PATH_MAX];

	if (fd < 0)
		return error_errno(err, "dup");
	(void)fdname_path(fd, name, sizeof(name));
	return temp_open_in(&fd, name, ret, err);
}

void temp_close(struct temp *temp)
{
	if (!temp)
		return;
	close_fd(&temp->fd);
	if (temp->inode)
		(void)!temp_remove_directory(temp->parent, temp->own,
					     &(struct stat){ .st_dev = temp->device, .st_ino = temp->inode }, NULL);
	close_fd(&temp->parent);
	free(temp);
}

int temp_file(const struct temp *temp, int *ret_fd, struct error *err)
{
	int fd;

	if (!temp->own[0]) {
		fd = temp_open_unnamed(temp->fd);
	} else {
		fd = openat(temp->fd, "spool", O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
		if (fd >= 0)
			unlinkat(temp->fd, "spool", 0);
	}
	if (fd < 0)
		return error_errno(err, "cannot create a temporary file in '%s'", temp->name);
	*ret_fd = fd;
	return 0;
}

int temp_failed(const struct temp *temp, int code, struct error *err)
{
	return error_set(err, code, "temporary files in '%s' (see --temp-dir): %s", temp->name, strerror(-code));
}

int temp_reserve(const struct temp *temp, int fd, uint64_t offset, uint64_t length, struct error *err)
{
	int r = posix_fallocate(fd, (off_t)offset, (off_t)length);

	return r ? temp_failed(temp, -r, err) : 0;
}

int temp_write(const struct temp *temp, int fd, uint64_t offset, const void *bytes, size_t length,
	       struct error *err)
{
	return transfer_write_at(fd, bytes, length, offset) < 0 ? temp_failed(temp, -errno, err) : 0;
}

int temp_read(const struct temp *temp, int fd, uint64_t offset, void *bytes, size_t length, struct error *err)
{
	ssize_t n = transfer_read_at(fd, bytes, length, offset);

	return n < 0 ? temp_failed(temp, -errno, err) : (size_t)n < length ? temp_failed(temp, -ENODATA, err) : 0;
}

int temp_stream_open(struct temp_stream *stream, const struct temp *temp, struct error *err)
{
	struct temp_stream opened = { .temp = temp };
	int r;

	opened.buffer = malloc(TEMP_BUFFER);
	if (!opened.buffer)
		return error_no_memory(err);
	r = temp_file(temp, &opened.fd, err);
	if (r < 0) {
		free(opened.buffer);
		return r;
	}
	*stream = opened;
	return 0;
}

void temp_stream_close(struct temp_stream *stream)
{
	if (!stream->temp)
		return;
	free(stream->buffer);
	close(stream->fd);
	*stream = (struct temp_stream){ 0 };
}

int temp_stream_flush(struct temp_stream *stream, struct error *err)
{
	int r = temp_write(stream->temp, stream->fd, stream->written, stream->buffer, stream->used, err);

	if (r < 0)
		return r;
	stream->written += stream->used;
	stream->used = 0;
	return 0;
}

int temp_stream_put(struct temp_stream *stream, const void *bytes, size_t length, struct error *err)
{
	const uint8_t *from = bytes;
	size_t part;
	int r;

	while (length) {
		if (stream->used == TEMP_BUFFER) {
			r = temp_stream_flush(stream, err);
			if (r < 0)
				return r;
		}
		part = TEMP_BUFFER - stream->used < length ? TEMP_BUFFER - stream->used : length;
		memcpy(stream->buffer + stream->used, from, part);
		stream->used += part;
		from += part;
		length -= part;
	}
	return 0;
}

int temp_stream_get(const struct temp_stream *stream, uint64_t offset, void *bytes, size_t length, struct error *err)
{
	uint64_t in_file = stream->written - (offset < stream->written ? offset : stream->written);
	size_t part = in_file < length ? (size_t)in_file : length;
	int r = temp_read(stream->temp, stream->fd, offset, bytes, part, err);

	if (r == 0 && length > part)
		memcpy((uint8_t *)bytes + part, stream->buffer + (offset + part - stream->written), length - part);
	return r;
}
