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
	uint64_t stat_cache_device;          /* filesystem of the first file, whose inode numbers count; 0: none yet */
	uint64_t next_ordinal;               /* guess for the next file's ordinal in the stat cache; 0: none */
	struct batch *batch; /* being filled */
};

struct scan_sink batcher_sink(struct batcher *batcher);
void batcher_flush(struct batcher *batcher); /* after the scan */
