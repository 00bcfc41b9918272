/* SPDX-License-Identifier: MIT */
/* What the packer knows of a file from one statx(). */
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
	bool has_holes; /* fewer bytes are allocated than its size, because of holes or compression */
};

/* Of name in the directory, without following symlinks, or of the descriptor itself if name is "". Returns -errno. */
must_check int attributes_read(int fd, const char *name, struct attributes *ret);
/* Is it the same file, unchanged? */
bool attributes_are_same(const struct attributes *a, const struct attributes *b);
/* ctime in nanoseconds, for comparisons. */
uint64_t attributes_ctime_ns(const struct attributes *attributes);
