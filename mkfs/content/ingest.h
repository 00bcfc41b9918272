/* SPDX-License-Identifier: MIT */
/* Reads the files of a batch and does the work that needs no order: sums, zero chunks, compression, xattrs. */
#pragma once
#include "content/batch.h"
#include "content/dedup.h"
#include "content/stat_cache.h"
#include "source/xattrs.h"

struct ingest_setup {
	uint32_t chunk_log;
	uint32_t sums; /* DSFS_SUM_* */
	int level; /* zstd, for items with .compress */
	const struct dedup *dedup; /* NULL on a new volume */
	const struct stat_cache *stat_cache; /* NULL: items are never unchanged */
	const struct xattrs_wanted *xattrs;
};

/* The functions for a struct pipeline_work with a struct ingest_setup as its argument. */
void *ingest_new(const void *setup);
void ingest_free(void *ingest);
must_check int ingest_work(void *ingest, struct batch *batch, struct error *err);
/* Opens the item's file for reading, also for a caller that looks for holes. */
must_check int ingest_open(const struct item *item, int *ret_fd, struct error *err);
