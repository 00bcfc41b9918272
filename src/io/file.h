/* SPDX-License-Identifier: MIT */
/* A volume in a regular file or on a block device, as a byte source. */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/source.h"
#include "io/site.h"
#include "io/timed_read.h"

struct file_geometry {
	bool is_block_device;
	bool is_direct;         /* reads and writes bypass the page cache */
	uint32_t logical_block; /* alignment that direct I/O needs: 512 or 4096 */
	uint64_t size;          /* bytes, when it was opened or last asked for */
};

#define FILE_PATIENCE INT64_C(5000000000) /* ns; for callers that must not wait for a device */
#define FILE_PATIENCE_LEAST INT64_C(100000000) /* ns; the same for one that did not answer the process before */
#define FILE_WAITS    TIMED_READ_ENDLESS  /* ns; for callers that can wait until a signal ends the program */

enum file_mode { FILE_READ, FILE_WRITE, FILE_CREATE, FILE_UNNAMED };

struct file_source {
	struct source source;
	struct file_geometry geometry;
	int fd;
	int64_t patience; /* ns after which a hanging read fails (io/timed_read.h); 0: never; set before others read */
	/* Since when reads with patience have not been answered, ns, 0: they are; set before others read. NULL: nobody
	 * asks. A process that inherits it waits the shorter for that, until inherited_until. */
	_Atomic int64_t *silent_since;
	int64_t inherited_until;
};

/* FILE_READ opens O_RDONLY. FILE_WRITE opens an existing volume exclusively: O_EXCL on a device, a lock on a file;
 * -EBUSY if another publisher has it. Falls back to buffered I/O if O_DIRECT is refused (see geometry.is_direct). */
must_check int file_open(const char *path, enum file_mode mode, struct file_source **ret, struct error *err);
/* Opens the file that site found. After opening for writing, the site's folder and name are known. FILE_CREATE: a
 * new file, -EEXIST if the name is taken. FILE_UNNAMED: a new file without a name until site_link(), if the
 * filesystem supports that. */
must_check int file_open_site(struct site *site, enum file_mode mode, struct file_source **ret, struct error *err);
/* Wraps a volume that another process opened with O_RDONLY and handed over; takes fd on success. */
must_check int file_adopt(int fd, struct file_source **ret, struct error *err);
void file_close(struct file_source *file);
/* Tells whether a publisher has the file open. A publisher holds a write lock (F_OFD_SETLK), which every container
 * sees and a read-only descriptor cannot take. FILE_USE_UNKNOWN: a reader's lock was there first. On a device only a
 * publisher that opened the same node is seen. */
enum file_use { FILE_USE_UNKNOWN, FILE_USE_NONE, FILE_USE_WRITTEN };
enum file_use file_use(int fd);
/* Updates the geometry of a descriptor that now refers to another file. Other threads may read everything except
 * logical_block meanwhile. */
void file_note(struct file_geometry *geometry, const struct file_geometry *now);

static inline bool file_is_direct(const struct file_geometry *geometry)
{
	return __atomic_load_n(&geometry->is_direct, __ATOMIC_RELAXED);
}

static inline bool file_is_block_device(const struct file_geometry *geometry)
{
	return __atomic_load_n(&geometry->is_block_device, __ATOMIC_RELAXED);
}

static inline uint64_t file_last_size(const struct file_geometry *geometry)
{
	return __atomic_load_n(&geometry->size, __ATOMIC_RELAXED);
}
