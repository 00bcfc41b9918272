/* SPDX-License-Identifier: MIT */
/* Takes what the scan tells: names go to the index, inodes into batches. */
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
	uint64_t stat_cache_device;          /* inode numbers are those of this filesystem; 0: not known yet */
	uint64_t next_ordinal;               /* ordinal that the next file may have had; 0: no idea */
	struct batch *batch; /* being filled */
};

struct scan_sink batcher_sink(struct batcher *batcher);
void batcher_flush(struct batcher *batcher); /* after the scan */
