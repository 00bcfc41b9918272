/* SPDX-License-Identifier: MIT */
/* Inodes and attribute classes: decodes them with every bound checked, encodes them for the packer. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/span.h"
#include "image/hole_list.h"
#include "image/index.h"
#include "image/names/names.h"

#define INODE_ROOT 1u

struct inode {
	uint64_t ordinal;
	uint32_t mode, uid, gid, nlink;
	uint64_t size;
	int64_t mtime;       /* seconds since the epoch */
	uint32_t mtime_nsec; /* 0..999999999 */
	uint64_t where;      /* first chunk record, parent, or offset of the target; without flags */
	struct hole_list holes;
	bool sparse;
	uint64_t xattrs;     /* 1 + offset in the blob, 0 for none */
};

/* Range of seconds that the format can hold. */
#define INODE_TIME_MIN (-INT64_C(2147483648))
#define INODE_TIME_MAX (INT64_C(15032385535))

must_check int inode_get(const struct index *index, uint64_t ordinal, struct inode *ret, struct error *err);
/* Prefetch for a caller that will read many inodes: inode_expect() loads an inode's record into the CPU's cache; once
 * it is there, inode_expect_chunk() loads the record of its first chunk. Any ordinal is allowed. */
void inode_expect(const struct index *index, uint64_t ordinal);
void inode_expect_chunk(const struct index *index, uint64_t ordinal);
uint64_t inode_chunk_count(const struct index *index, const struct inode *inode);
uint64_t inode_record_count(const struct index *index, const struct inode *inode); /* from inode->where on */
must_check int inode_link_target(const struct index *index, const struct inode *inode, struct span *ret,
				 struct error *err);

/* Returns st_blksize, by which CPython's open() and stdio choose their buffers. A file that one read can fetch (of at
 * most `largest` bytes) gets a size that covers it, so that a program that looks at its head reads all of it. A larger
 * file does not: programs may want only small parts of it. */
uint32_t inode_io_size(const struct inode *inode, uint32_t largest);

/* Calls each() with the name and value of each attribute, until it returns non-zero, which is returned. */
must_check int inode_xattrs(const struct index *index, const struct inode *inode,
			    int (*each)(void *argument, struct span name, struct span value), void *argument,
			    struct error *err);

/* Finds the path of an inode (its first name) by search: for error lines only. Falls back to "inode N". */
void inode_path(const struct index *index, uint64_t ordinal, char *path, size_t size);

/* Encodes an inode for the packer. class is its attribute class's number; where is as on the volume, without SPARSE. */
void inode_encode(const struct inode *inode, uint32_t class, struct dsfs_inode *disk);
