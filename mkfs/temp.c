/* SPDX-License-Identifier: MIT */
/* Temporary files: without a name where the filesystem can, unlinked at once elsewhere. */
#include "temp.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

/* A file that never has a name leaves nothing behind, whatever ends us. */
static int temp_open_unnamed(int directory)
{
	return openat(directory, ".", O_TMPFILE | O_RDWR | O_EXCL | O_CLOEXEC, 0600);
}

/* Where every file has a name at first, they get a directory of their own: a scan leaves it out. */
static int temp_make_own(struct temp *temp, struct error *err)
{
	char parent[PATH_MAX];
	struct stat st;

	memcpy(parent, temp->path, sizeof(parent));
	if ((size_t)snprintf(temp->path, sizeof(temp->path), "%.*s/mkdatasetfs.XXXXXX", (int)temp->parent_length,
			     parent) >= sizeof(temp->path))
		return error_set(err, -ENAMETOOLONG, "temporary directory '%s' has too long a name", parent);
	if (!mkdtemp(temp->path))
		return error_errno(err, "cannot create a temporary directory in '%s'", parent);
	temp->is_own = true;
	close_fd(&temp->fd);
	temp->fd = open(temp->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (temp->fd < 0 || fstat(temp->fd, &st) < 0)
		return error_errno(err, "cannot open temporary directory '%s'", temp->path);
	temp->device = st.st_dev;
	temp->inode = st.st_ino;
	return 0;
}

static int temp_open_parent(struct temp *temp, const char *parent, struct error *err)
{
	auto_close int probe = -1;

	temp->parent_length = (size_t)snprintf(temp->path, sizeof(temp->path), "%s", parent);
	if (temp->parent_length >= sizeof(temp->path))
		return error_set(err, -ENAMETOOLONG, "temporary directory '%s' has too long a name", parent);
	temp->fd = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (temp->fd >= 0)
		probe = temp_open_unnamed(temp->fd);
	return probe < 0 ? temp_make_own(temp, err) : 0;
}

int temp_open(const char *parent, struct temp **ret, struct error *err)
{
	struct temp *temp = calloc(1, sizeof(*temp));
	int r;

	if (!temp)
		return error_set(err, -ENOMEM, "out of memory");
	temp->fd = -1;
	r = temp_open_parent(temp, parent, err);
	if (r < 0) {
		temp_close(temp);
		return r;
	}
	*ret = temp;
	return 0;
}

void temp_close(struct temp *temp)
{
	if (!temp)
		return;
	close_fd(&temp->fd);
	if (temp->is_own)
		rmdir(temp->path);
	free(temp);
}

int temp_file(const struct temp *temp, int *ret_fd, struct error *err)
{
	int fd;

	if (!temp->is_own) {
		fd = temp_open_unnamed(temp->fd);
	} else {
		fd = openat(temp->fd, "spool", O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
		if (fd >= 0)
			unlinkat(temp->fd, "spool", 0);
	}
	if (fd < 0)
		return error_errno(err, "cannot create a temporary file in '%s'", temp->path);
	*ret_fd = fd;
	return 0;
}

/* The name of a directory of our own is random: the parent is what a person can act upon. */
static int temp_failed(const struct temp *temp, int code, struct error *err)
{
	return error_set(err, code, "temporary files in '%.*s' (see --temp-dir): %s", (int)temp->parent_length,
			 temp->path, strerror(-code));
}

int temp_reserve(const struct temp *temp, int fd, uint64_t offset, uint64_t length, struct error *err)
{
	int r = posix_fallocate(fd, (off_t)offset, (off_t)length);

	return r ? temp_failed(temp, -r, err) : 0;
}

int temp_write(const struct temp *temp, int fd, uint64_t offset, const void *bytes, size_t length,
	       struct error *err)
{
	const uint8_t *from = bytes;

	while (length) {
		ssize_t n = pwrite(fd, from, length, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return temp_failed(temp, n < 0 ? -errno : -EIO, err);
		from += n;
		offset += (uint64_t)n;
		length -= (size_t)n;
	}
	return 0;
}

int temp_read(const struct temp *temp, int fd, uint64_t offset, void *bytes, size_t length, struct error *err)
{
	uint8_t *to = bytes;

	while (length) {
		ssize_t n = pread(fd, to, length, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return temp_failed(temp, n < 0 ? -errno : -ENODATA, err);
		to += n;
		offset += (uint64_t)n;
		length -= (size_t)n;
	}
	return 0;
}

int temp_stream_open(struct temp_stream *stream, const struct temp *temp, struct error *err)
{
	struct temp_stream opened = { .temp = temp };
	int r;

	opened.buffer = malloc(TEMP_BUFFER);
	if (!opened.buffer)
		return error_set(err, -ENOMEM, "out of memory");
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
