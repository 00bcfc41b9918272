/* SPDX-License-Identifier: MIT */
/* A volume in a regular file or on a block device, as a byte source. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/source.h"
#include "io/bounded.h"
#include "io/site.h"

struct file_geometry {
	bool is_block_device;
	bool is_direct;         /* reads and writes bypass the page cache */
	uint32_t logical_block; /* alignment that direct I/O needs: 512 or 4096 */
	uint64_t size;
};

#define FILE_PATIENCE INT64_C(5000000000) /* for callers that must not wait for a device */
#define FILE_WAITS    BOUNDED_ENDLESS     /* for callers that have nothing else, but end when a signal says so */

enum file_mode { FILE_READ, FILE_WRITE, FILE_CREATE, FILE_UNNAMED };

struct file_source {
	struct source source;
	struct file_geometry geometry;
	int fd;
	int64_t patience; /* ns after which a hanging read fails (io/bounded.h); 0: never; set before others read */
};

/* FILE_READ: O_RDONLY. FILE_WRITE: an existing volume, opened exclusively (O_EXCL on a device, a write
 * lock on a file: -EBUSY when another publisher has it). Falls back to buffered I/O where O_DIRECT is
 * refused (geometry.is_direct says). */
must_check int file_open(const char *path, enum file_mode mode, struct file_source **ret, struct error *err);
/* In these modes what was found there; the folder and the name of a file that is to be written to are known afterwards.
 * FILE_CREATE: a new file, -EEXIST when there is one. FILE_UNNAMED: a new file that has no name before site_link(),
 * where the filesystem has such files. */
must_check int file_open_site(struct site *site, enum file_mode mode, struct file_source **ret, struct error *err);
/* A volume that another process opened with O_RDONLY and handed over; takes fd on success. */
must_check int file_adopt(int fd, struct file_source **ret, struct error *err);
void file_close(struct file_source *file);
/* Whether a publisher has it open. It keeps a write lock (F_OFD_SETLK), which no descriptor for reading can take and
 * every container sees; FILE_USE_UNKNOWN: a reader's lock was there first. Of a device this tells only of who opened
 * the same node. */
enum file_use { FILE_USE_UNKNOWN, FILE_USE_NONE, FILE_USE_WRITTEN };
enum file_use file_use(int fd);
/* Notes that a descriptor now leads to something else. Other threads may read everything but logical_block
 * meanwhile. */
void file_note(struct file_geometry *geometry, const struct file_geometry *now);

static inline bool file_is_direct(const struct file_geometry *geometry)
{
	return __atomic_load_n(&geometry->is_direct, __ATOMIC_RELAXED);
}

static inline bool file_is_block_device(const struct file_geometry *geometry)
{
	return __atomic_load_n(&geometry->is_block_device, __ATOMIC_RELAXED);
}
