/* SPDX-License-Identifier: MIT */
/* Makes the packer's temporary files, which disappear when it ends, however it ends. */
#pragma once
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/error.h"

#define TEMP_NAME_SIZE 32u

struct temp {
	char name[PATH_MAX]; /* of the requested directory, for messages */
	int parent, fd;      /* the requested directory, and the one with the files */
	char own[TEMP_NAME_SIZE]; /* name of fd's directory if we made it, for lack of unnamed files; else "" */
	uint64_t device, inode; /* of the directory that we made, so that a scan can leave it out; else 0 */
};

/* Makes an empty directory for us alone. Its name is random, so that no other user can take it before. */
must_check int temp_make_directory(int parent, char name[TEMP_NAME_SIZE], struct stat *ret, struct error *err);
/* Removes the directory that was made. -ESTALE: another one has its name by now, and stays. */
must_check int temp_remove_directory(int parent, const char *name, const struct stat *made, struct error *err);
must_check int temp_open(const char *path, struct temp **ret, struct error *err);
must_check int temp_open_folder(int folder, struct temp **ret, struct error *err); /* folder: an open directory */
void temp_close(struct temp *temp); /* the files last as long as their descriptors */
/* Makes a new file without a name, open for reading and writing. */
must_check int temp_file(const struct temp *temp, int *ret_fd, struct error *err);
/* Sets the error for a failed access to a temporary file, and returns code. The message names the directory that the
 * user asked for, because the name of our own is random. */
int temp_failed(const struct temp *temp, int code, struct error *err);
/* Allocates length bytes at offset, so that access through a mapping cannot fail later. */
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
	size_t used;      /* bytes in buffer, which follow those in the file */
	uint8_t *buffer;  /* TEMP_BUFFER */
};

must_check int temp_stream_open(struct temp_stream *stream, const struct temp *temp, struct error *err);
void temp_stream_close(struct temp_stream *stream); /* a zeroed one may be closed, too */
must_check int temp_stream_flush(struct temp_stream *stream, struct error *err); /* writes the buffer to the file */
must_check int temp_stream_put(struct temp_stream *stream, const void *bytes, size_t length, struct error *err);
/* Gets bytes that were put, from the file or from the buffer. */
must_check int temp_stream_get(const struct temp_stream *stream, uint64_t offset, void *bytes, size_t length,
			       struct error *err);
