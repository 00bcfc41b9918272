/* SPDX-License-Identifier: MIT */
/* Builds the tree from entries of archives, which come in any order: which name belongs to which inode. Inodes are
 * numbered from 1 in order of arrival. The scan, which needs names in order, runs when all have arrived. */
#pragma once
#include "source/archive/tar_stream.h"
#include "source/listing.h"
#include "spill/mapped.h"
#include "spill/reorder.h"
#include "spill/spool.h"
#include "spill/table.h"

#define TAR_TREE_IMPLIED UINT64_C(1) /* the inode of all folders that no archive names */

struct tar_tree_setup {
	const struct temp *temp;
	const struct filter *filter; /* NULL: everything */
	unsigned strip;              /* components to take off each name */
	int64_t epoch;               /* mtime of folders that no archive names */
};

struct tar_tree {
	struct tar_tree_setup setup;
	struct mapped inodes;  /* struct attributes, by number from 1; .inode: its own number, or another inode's */
	struct table paths;    /* path → number of the inode; 0: left out */
	struct sorter *sorter; /* names, in the order of a breadth-first scan, the last entry first */
	uint64_t entries;      /* so far */
	struct spool awaited;  /* numbers that links gave to files which had not come, and the paths of these */
	char *path, *link, *last; /* of this entry, its target, and of the entry before */
	bool warned;           /* of absolute names */
	/* the scan */
	struct reorder ordered; /* inodes of the names */
	struct spool folders;  /* inodes of those to come */
	char *name;            /* path of the next entry, NULL at the end */
	size_t room;
	uint64_t number;       /* of its inode, or of one that stands for it */
	struct attributes inode;
	bool is_link;          /* by a hard link */
};

must_check int tar_tree_open(struct tar_tree *tree, const struct tar_tree_setup *setup, struct error *err);
void tar_tree_close(struct tar_tree *tree); /* a zeroed one as well */
/* Adds an entry. *ret: the number of a new inode, which has the attributes of the entry; 0: the entry is another name
 * of an existing inode, or is not packed. */
must_check int tar_tree_add(struct tar_tree *tree, const struct tar_stream_entry *entry, uint64_t *ret,
			    struct error *err);
/* Path of the last entry as it is packed; valid until the next one. */
const char *tar_tree_path(const struct tar_tree *tree);
struct attributes tar_tree_attributes(const struct tar_tree *tree, uint64_t number);

/* After the last entry, for scan_run(). */
must_check int tar_tree_sort(struct tar_tree *tree, struct error *err);
must_check int tar_tree_directory(void *tree, const struct listing_context *context, const char *path,
				  struct listing *ret, struct error *err);
must_check int tar_tree_end(void *tree, const struct listing_context *context, struct error *err);
