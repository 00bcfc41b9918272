/* SPDX-License-Identifier: MIT */
/* The packer's temporary files; they are gone when the packer ends, however it ends. */
#pragma once
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

struct temp {
	char name[PATH_MAX]; /* of the directory that was asked for, for messages */
	int parent, fd;      /* that directory, and the one with the files */
	char own[32];        /* the latter was made here, under this name: the filesystem has no files without one; else "" */
	uint64_t device, inode; /* of such a directory, so that a scan can leave it out; else 0 */
};

must_check int temp_open(const char *path, struct temp **ret, struct error *err);
must_check int temp_open_folder(int folder, struct temp **ret, struct error *err); /* one that is open */
void temp_close(struct temp *temp); /* the files last as long as their descriptors */
/* A new file without a name, open for reading and writing. */
must_check int temp_file(const struct temp *temp, int *ret_fd, struct error *err);
/* Space for length bytes at offset, so that a mapping of it cannot fail later. */
must_check int temp_reserve(const struct temp *temp, int fd, uint64_t offset, uint64_t length, struct error *err);
must_check int temp_write(const struct temp *temp, int fd, uint64_t offset, const void *bytes, size_t length,
			  struct error *err);
must_check int temp_read(const struct temp *temp, int fd, uint64_t offset, void *bytes, size_t length,
			 struct error *err);

#define TEMP_BUFFER 65536u

/* A temporary file that grows at its end, through a buffer. */
struct temp_stream {
	const struct temp *temp;
	int fd;
	uint64_t written; /* bytes in the file */
	size_t used;      /* bytes in buffer, to be written behind them */
	uint8_t *buffer;  /* TEMP_BUFFER */
};

must_check int temp_stream_open(struct temp_stream *stream, const struct temp *temp, struct error *err);
void temp_stream_close(struct temp_stream *stream); /* a zeroed one as well */
must_check int temp_stream_flush(struct temp_stream *stream, struct error *err); /* empties the buffer */
