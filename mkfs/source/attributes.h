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
	bool has_holes; /* less is allocated than its size, by holes or by compression */
};

/* Of name in the directory (never through a symlink), or of the descriptor itself when name is "". -errno. */
must_check int attributes_read(int fd, const char *name, struct attributes *ret);
/* The same file, and nothing of it was changed in between. */
bool attributes_are_same(const struct attributes *a, const struct attributes *b);
/* ctime in nanoseconds, to compare it. */
uint64_t attributes_ctime_ns(const struct attributes *attributes);
