/* SPDX-License-Identifier: MIT */
/* Writes extended attributes in EROFS form: each set is stored once, for all inodes that have it. The root has one
 * more, DSFS_VERSION_ATTRIBUTE, which says what version this is. */
#pragma once
#include "erofs/erofs_sink.h"
#include "image/catalogue/version.h"
#include "image/inode.h"

/* A set of attributes, and how its inodes refer to it. */
struct erofs_xattr_set {
	uint64_t offset;       /* 1 + its offset in the blob, as in inodes */
	uint32_t first, count; /* range in the table's numbers */
	uint32_t bytes;        /* bytes after each inode, header included */
	bool is_root;          /* has the table's text too */
};

struct erofs_xattrs_table {
	const struct index *index;
	struct erofs_xattr_set *sets; /* by offset */
	size_t set_count, set_room;
	uint32_t *numbers; /* positions of the shared attributes, in units of 4 bytes */
	size_t number_count, number_room;
	uint64_t bytes; /* of all shared attributes */
	struct erofs_xattr_set root;
	char *text; /* the value of the root's further attribute */
	size_t text_length;
};

must_check int erofs_xattrs_collect(const struct index *index, const struct version *version,
				    struct erofs_xattrs_table *ret, struct error *err);
void erofs_xattrs_free(struct erofs_xattrs_table *table);
/* Returns the inode's set of attributes; NULL: it has none. */
const struct erofs_xattr_set *erofs_xattrs_of(const struct erofs_xattrs_table *table, const struct inode *inode);
/* Writes the attributes that follow an inode. */
must_check int erofs_xattrs_put(const struct erofs_xattrs_table *table, const struct erofs_xattr_set *set,
				struct erofs_sink *sink, struct error *err);
/* Writes the area of shared attributes. */
must_check int erofs_xattrs_put_shared(const struct erofs_xattrs_table *table, struct erofs_sink *sink,
				       struct error *err);
