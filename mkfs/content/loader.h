/* SPDX-License-Identifier: MIT */
/* Fills batches from archives: inodes with their content, in the order in which they come. Ordinals are the numbers
 * of struct tar_tree. */
#pragma once
#include "content/compress_hints.h"
#include "content/pipeline.h"
#include "options/pack_options.h"
#include "source/archive/tar_stream.h"
#include "source/archive/tar_tree.h"

struct loader {
	const struct pack_options *options;
	struct pipeline *pipeline; /* NULL: only the tree is wanted */
	struct compress_hints *hints;
	struct tar_stream *stream;
	struct tar_tree *tree;
	struct dirfd *dir;    /* of all items: the root of the tree */
	struct batch *batch;  /* being filled */
	unsigned warnings;
	/* the file that is being loaded */
	uint64_t number;      /* 0: none, or it is not packed */
	struct attributes attributes;
	const char *name;     /* last component of its path */
	uint8_t *xattrs;      /* until its first piece takes them */
	uint32_t xattrs_length;
	struct item *piece;   /* being filled, or NULL */
	uint64_t position;    /* bytes so far */
};

/* Until the stream ends. */
must_check int loader_run(struct loader *loader, struct error *err);
void loader_flush(struct loader *loader); /* afterwards, before pipeline_end() */
void loader_close(struct loader *loader); /* a zeroed one as well */
