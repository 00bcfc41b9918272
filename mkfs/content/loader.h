/* SPDX-License-Identifier: MIT */
/* Fills batches from archives: inodes with their content, in the order of arrival. Ordinals are the numbers of struct
 * tar_tree. */
#pragma once
#include "content/feed.h"
#include "source/archive/tar_stream.h"
#include "source/archive/tar_tree.h"
#include "source/outward.h"

struct loader {
	struct feed feed;     /* without a pipeline only the tree is wanted */
	struct tar_stream *stream;
	struct tar_tree *tree;
	struct dirfd *dir;    /* directory of all items: the root of the tree */
	unsigned warnings;
	struct outward outward;
	/* the file that is being loaded */
	uint64_t number;      /* of its inode; 0: there is no file, or it is not packed */
	struct attributes attributes;
	const char *name;     /* last component of its path */
	uint8_t *xattrs;      /* NULL once the first piece has taken them */
	uint32_t xattrs_length;
	struct item *piece;   /* the piece being filled, or NULL */
	uint64_t position;    /* bytes so far */
};

/* Reads the stream to its end and fills batches with its entries. */
must_check int loader_run(struct loader *loader, struct error *err);
void loader_close(struct loader *loader); /* a zeroed one may be closed, too */
