/* SPDX-License-Identifier: MIT */
/* Receives the scan: adds names to the index and inodes to batches. */
#pragma once
#include "content/feed.h"
#include "content/stat_cache.h"
#include "image/index.h"
#include "source/scan.h"

struct batcher {
	struct feed feed;
	struct names_writer *names;
	const struct stat_cache *stat_cache; /* NULL: every file is read */
	struct filesystem filesystem;        /* of the first file: files elsewhere are read */
	enum stat_cache_doubt doubt;         /* about that filesystem */
	uint64_t next_ordinal;               /* guess for the next file's ordinal in the stat cache; 0: none */
};

/* Adds an entry to the names of the index as mark number `number` of the directory. */
must_check int batcher_add_mark(struct names_writer *names, uint64_t directory, uint32_t number,
				const struct listing_entry *entry, struct error *err);
must_check int batcher_add_name(struct names_writer *names, uint64_t directory, const struct scan_entry *entry,
				struct error *err);
struct scan_sink batcher_sink(struct batcher *batcher);
