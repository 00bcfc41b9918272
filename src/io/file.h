/* SPDX-License-Identifier: MIT */
/* A volume in a regular file or on a block device, as a byte source. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/source.h"

struct file_geometry {
	bool is_block_device;
	bool is_direct;         /* reads and writes bypass the page cache */
	uint32_t logical_block; /* alignment that direct I/O needs: 512 or 4096 */
	uint64_t size;
};

enum file_mode { FILE_READ, FILE_WRITE, FILE_CREATE, FILE_UNNAMED };

struct file_source {
	struct source source;
	struct file_geometry geometry;
	int fd;
};

/* FILE_READ: O_RDONLY. FILE_WRITE: an existing volume, opened exclusively (O_EXCL on a device, a write lock on
 * a file: -EBUSY when another publisher has it). FILE_CREATE: a new file, -EEXIST when there is one. FILE_UNNAMED: a
 * new file in the directory path that nobody finds before linkat(2); it fails where the filesystem has no such files.
 * Falls back to buffered I/O where O_DIRECT is refused (geometry.is_direct says). */
must_check int file_open(const char *path, enum file_mode mode, struct file_source **ret, struct error *err);
void file_close(struct file_source *file);
