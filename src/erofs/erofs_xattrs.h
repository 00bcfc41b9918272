/* SPDX-License-Identifier: MIT */
/* Extended attributes in EROFS form: each set is stored once, for all inodes that have it. */
#pragma once
#include "erofs/erofs_sink.h"
#include "image/inode.h"

/* A set of attributes, and what its inodes store about it. */
struct erofs_xattr_set {
	uint64_t offset;       /* 1 + where it lies in the blob, as inodes have it */
	uint32_t first, count; /* of the table of numbers */
	uint32_t bytes;        /* that follow each inode, header included */
};

struct erofs_xattrs_table {
	const struct index *index;
	struct erofs_xattr_set *sets; /* by offset */
	size_t set_count, set_room;
	uint32_t *numbers; /* of shared attributes, by place */
	size_t number_count, number_room;
	uint64_t bytes; /* of all shared attributes */
};

must_check int erofs_xattrs_collect(const struct index *index, struct erofs_xattrs_table *ret, struct error *err);
void erofs_xattrs_free(struct erofs_xattrs_table *table);
/* NULL: the inode has none. */
const struct erofs_xattr_set *erofs_xattrs_of(const struct erofs_xattrs_table *table, const struct inode *inode);
/* Writes what follows the inode. */
must_check int erofs_xattrs_put(const struct erofs_xattrs_table *table, const struct erofs_xattr_set *set,
				struct erofs_sink *sink, struct error *err);
/* The shared ones. */
must_check int erofs_xattrs_put_shared(const struct erofs_xattrs_table *table, struct erofs_sink *sink,
				       struct error *err);
