/* SPDX-License-Identifier: MIT */
/* Adds what lies below a path of a version to a stream: each directory before its contents, names in bytewise order.
 * Keeps the first names of files that have more names to come, which become hard links. */
#pragma once
#include "extract/stream.h"

struct tree;

struct tree_counts {
	uint64_t files, directories, symlinks, hard_links, content_bytes;
};

/* The index and the stream must outlive the tree. */
must_check int tree_open(const struct index *index, struct stream *stream, struct tree **ret, struct error *err);
void tree_close(struct tree *tree); /* NULL does nothing */
/* Adds a directory with all that is in it, or another file. path: from the root, with or without slashes around it. */
must_check int tree_add(struct tree *tree, const char *path, struct error *err);
/* Waits until all is taken. */
must_check int tree_finish(struct tree *tree, struct tree_counts *ret, struct error *err);
