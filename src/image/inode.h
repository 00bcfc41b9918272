/* SPDX-License-Identifier: MIT */
/* Inodes and attribute classes: decodes them with every bound checked, encodes them for the packer. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/span.h"
#include "image/hole_list.h"
#include "image/index.h"
#include "image/names.h"

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

/* Seconds that fit the format. */
#define INODE_TIME_MIN (-INT64_C(2147483648))
#define INODE_TIME_MAX (INT64_C(15032385535))

must_check int inode_get(const struct index *index, uint64_t ordinal, struct inode *ret, struct error *err);
/* For who will ask for many: loads the record of an inode into the CPU's cache; then, when that is there, the record of
 * its first chunk. Any number does. */
void inode_expect(const struct index *index, uint64_t ordinal);
void inode_expect_chunk(const struct index *index, uint64_t ordinal);
uint64_t inode_chunk_count(const struct index *index, const struct inode *inode);
uint64_t inode_record_count(const struct index *index, const struct inode *inode); /* of its chunks, from where on */
must_check int inode_link_target(const struct index *index, const struct inode *inode, struct span *ret,
				 struct error *err);

/* st_blksize, by which CPython's open() and stdio choose their buffers: a file that one read can bring (largest: its
 * bytes) is asked for as a whole by whoever looks at its head first. Of a larger one perhaps only small parts are
 * wanted. */
uint32_t inode_io_size(const struct inode *inode, uint32_t largest);

/* each() gets name and value; non-zero from it ends the walk and is returned. */
must_check int inode_xattrs(const struct index *index, const struct inode *inode,
			    int (*each)(void *argument, struct span name, struct span value), void *argument,
			    struct error *err);

/* The path of an inode (its first name), by search: for error lines only. Falls back to "inode N". */
void inode_path(const struct index *index, struct names_reader *reader, uint64_t ordinal, char *path, size_t size);

/* For the packer: class is the number of its attribute class; where is as on the volume but for SPARSE. */
void inode_encode(const struct inode *inode, uint32_t class, struct dsfs_inode *disk);
