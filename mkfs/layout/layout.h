/* SPDX-License-Identifier: MIT */
/* Takes batches in order and decides where each item is stored or shared. One thread makes all these decisions, so the
 * result does not depend on the number of threads. */
#pragma once
#include "base/program/progress.h"
#include "content/compress_hints.h"
#include "content/stat_cache_writer.h"
#include "layout/holes.h"
#include "layout/large.h"
#include "layout/records.h"
#include "layout/scatter.h"
#include "layout/share.h"
#include "layout/store.h"
#include "layout/unchanged.h"
#include "source/outward.h"

/* The arguments of layout_open(). dedup, stat_cache and block_sums must live until layout_end(), all else until
 * layout_close(). */
struct layout_setup {
	const struct temp *temp;
	uint32_t chunk_log;
	uint32_t sums; /* DSFS_SUM_* */
	struct writer *writer;
	struct allocator *allocator;
	struct progress *progress;
	struct compress_hints *hints;        /* NULL unless --compress is auto */
	const struct dedup *dedup;           /* NULL on a new volume */
	const struct stat_cache *stat_cache; /* of the trusted version; NULL: every file is read */
	struct block_sums_view *block_sums;  /* of the trusted version's block checksums; NULL: it has none */
	const struct override *override;     /* of owners and modes */
	bool writes_stat_cache;              /* whether the new version gets one */
	bool all_xattrs;                     /* see stat_cache_writer.h */
	int64_t settled;                     /* see stat_cache_writer.h */
	bool is_random;                      /* small files are stored in a random order */
	uint64_t seed;                       /* of that order */
};

struct layout_counts {
	uint64_t files, directories, symlinks, links;
	uint64_t content_bytes;
	uint64_t shared_bytes; /* content that was on the volume already */
	uint64_t hole_bytes;
	uint64_t read_bytes;   /* of the source */
	uint64_t unchanged;    /* files taken from an older version without opening them */
};

/* The new version while it is laid out. Its parts point to each other, so it must not be moved. */
struct layout {
	struct records records;
	struct share share;
	struct store store;
	struct scatter *scatter; /* NULL: files are stored as they come */
	struct holes holes;
	struct large large;
	struct unchanged unchanged;
	struct stat_cache_writer stat_cache_writer;
	struct compress_hints *hints;
	struct progress *progress;
	struct layout_counts counts;
	struct outward outward; /* symlinks of a directory; those of archives are the loader's */
};

must_check int layout_open(struct layout *layout, const struct layout_setup *setup, struct error *err);
void layout_close(struct layout *layout); /* a zeroed one may be closed, too */
must_check int layout_add_batch(struct layout *layout, const struct batch *batch, struct error *err);
/* Stores the contents that waited for the last batch. */
must_check int layout_place(struct layout *layout, struct error *err);
/* Frees the tables that find equal content, after the last batch. */
void layout_end(struct layout *layout);
