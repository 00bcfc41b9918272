/* SPDX-License-Identifier: MIT */
/* Receives the scan: adds names to the index and inodes to batches. */
#pragma once
#include "content/compress_hints.h"
#include "content/pipeline.h"
#include "content/stat_cache.h"
#include "image/index.h"
#include "options/pack_options.h"
#include "source/scan.h"

struct batcher {
	const struct pack_options *options;
	struct pipeline *pipeline;
	struct names_writer *names;
	struct compress_hints *hints;
	const struct stat_cache *stat_cache; /* NULL: every file is read */
	uint64_t stat_cache_device;          /* filesystem of the first file: others are read; 0: none yet */
	uint64_t next_ordinal;               /* guess for the next file's ordinal in the stat cache; 0: none */
	struct batch *batch; /* the batch being filled */
};

/* Adds an entry to the names of the index as mark number `number` of the directory. */
must_check int batcher_add_mark(struct names_writer *names, uint64_t directory, uint32_t number,
				const struct listing_entry *entry, struct error *err);
must_check int batcher_add_name(struct names_writer *names, uint64_t directory, const struct scan_entry *entry,
				struct error *err);
/* Adds an item to *batch, or to the pipeline's next batch if *batch is NULL or has no room for the item. */
must_check int batcher_add_item(struct pipeline *pipeline, struct batch **batch, struct dirfd *dir, const char *name,
				size_t name_length, size_t content, struct item **ret, struct error *err);
/* Decides by the options and the item's name whether the reader tries to compress the item. */
void batcher_choose(const struct pack_options *options, struct compress_hints *hints, const struct batch *batch,
		    struct item *item);
struct scan_sink batcher_sink(struct batcher *batcher);
void batcher_flush(struct batcher *batcher); /* submits the last batch, after the scan */
