/* SPDX-License-Identifier: MIT */
/* Reads and compares the attributes of a file that the packer gets from one statx(). */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct attributes {
	uint64_t device, inode;
	uint64_t size; /* bytes */
	int64_t mtime, ctime;
	uint32_t mtime_nsec, ctime_nsec;
	uint32_t mode, uid, gid, nlink;
	bool is_followed; /* they are those of what a symlink of that name leads to */
	bool has_holes; /* fewer bytes are allocated than its size, because of holes or compression */
};

/* Reads the attributes of name in the directory fd, without following symlinks, or of fd itself if name is "". Returns
 * 0 or -errno. */
must_check int attributes_read(int fd, const char *name, struct attributes *ret);
/* Returns whether both describe the same file, unchanged in between. */
bool attributes_are_same(const struct attributes *a, const struct attributes *b);
/* Returns the ctime in nanoseconds, for comparisons. */
uint64_t attributes_ctime_ns(const struct attributes *attributes);
