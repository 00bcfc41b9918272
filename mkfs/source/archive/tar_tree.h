/* SPDX-License-Identifier: MIT */
/* Builds the tree from entries of archives, which come in any order: finds which name belongs to which inode. Inodes
 * are numbered from 1 in order of arrival. The scan, which needs names in order, runs when all have arrived. */
#pragma once
#include "source/archive/tar_origin.h"
#include "source/archive/tar_stream.h"
#include "source/listing.h"
#include "spill/mapped.h"
#include "spill/reorder.h"
#include "spill/spool.h"
#include "spill/table.h"

#define TAR_TREE_IMPLIED UINT64_C(1) /* number of the inode shared by all folders that no archive names */

struct tar_tree_setup {
	const struct temp *temp;
	const struct filter *filter; /* NULL: everything */
	unsigned strip;              /* components to take off each name */
	int64_t epoch;               /* mtime of folders that no archive names */
	struct tar_origin *origin;
};

struct tar_tree {
	struct tar_tree_setup setup;
	struct mapped inodes;  /* struct attributes, by number from 1; .inode: its own number, or another inode's */
	struct table paths;    /* path → struct tar_tree_name */
	struct sorter *sorter; /* names, in the order of a breadth-first scan, the last entry first */
	uint64_t entries;      /* so far */
	struct spool awaited;  /* numbers that links gave to files before these came, and the files' paths */
	char *path, *link, *last; /* of this entry, its target, and of the entry before */
	bool warned;           /* a warning about absolute names was logged */
	/* the scan */
	struct reorder ordered; /* inodes of the names */
	struct spool folders;  /* inodes of folders that the scan will list */
	char *name;            /* path of the next entry, NULL at the end */
	size_t room;
	uint64_t number;       /* of its inode, or of one that stands for it */
	struct attributes inode;
	bool is_link;          /* the name comes from a hard link */
};

must_check int tar_tree_open(struct tar_tree *tree, const struct tar_tree_setup *setup, struct error *err);
void tar_tree_close(struct tar_tree *tree); /* a zeroed one may be closed, too */
/* Adds an entry. *ret: the number of a new inode, which has the attributes of the entry; 0: the entry is another name
 * of an existing inode, or is not packed. */
must_check int tar_tree_add(struct tar_tree *tree, const struct tar_stream_entry *entry, uint64_t *ret,
			    struct error *err);
/* Returns the path of the last entry as it is packed; valid until the next one. */
const char *tar_tree_path(const struct tar_tree *tree);
struct attributes tar_tree_attributes(const struct tar_tree *tree, uint64_t number);

/* Sorts the names, after the last entry; then scan_run() can list the tree. */
must_check int tar_tree_sort(struct tar_tree *tree, struct error *err);
/* Makes a listing of the folder at path, as scan_lister.directory. */
must_check int tar_tree_directory(void *tree, const struct listing_context *context, const char *path,
				  struct listing *ret, struct error *err);
/* Ends the scan, as scan_lister.end: refuses a name that lies below something other than a directory. */
must_check int tar_tree_end(void *tree, const struct listing_context *context, struct error *err);
