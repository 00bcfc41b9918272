/* SPDX-License-Identifier: MIT */
/* Runs a publish as a whole, and returns its result. */
#pragma once
#include "base/error.h"
#include "content/stat_cache.h"
#include "image/catalogue/catalogue.h"
#include "layout/estimate.h"
#include "layout/layout.h"
#include "options/pack_options.h"
#include "source/archive/tar_origin.h"

struct target;

struct pack_result {
	char label[DSFS_LABEL_MAX + 1];
	uint64_t sequence;
	uint8_t volume_uuid[16], version_uuid[16];
	uint8_t digest[32];
	bool current;
	char identical[DSFS_LABEL_MAX + 1]; /* an earlier version with this digest, or "" */
	struct layout_counts counts;
	uint64_t special;        /* devices, sockets and FIFOs left out */
	struct tar_replaced replaced; /* entries of archives */
	uint64_t clamped;        /* mtimes that the format cannot hold */
	enum stat_cache_doubt doubt;          /* why --trust-mtime read all files */
	char source_type[FILESYSTEM_TYPE_SIZE]; /* of the source's filesystem */
	uint64_t stored_bytes;   /* of chunks, padding included */
	uint64_t existing_bytes; /* stored bytes that are shared with older versions */
	uint64_t existing_raw_bytes; /* the part of existing_bytes that is not compressed */
	uint64_t written_bytes;  /* to the volume: chunks, index, stat cache, block checksums, catalogue */
	uint64_t index_bytes;
	uint64_t block_sums_bytes; /* block checksums, for parts of large files */
	uint64_t unmirrored_bytes; /* shared with versions that have fewer copies than this one */
	uint64_t volume_bytes;   /* size of the volume afterwards */
	double seconds;
};

/* Publishes the source as a new version on an open target. The caller closes the target with target_close(), which
 * undoes a failed publish as far as possible. */
must_check int pack_run(const struct pack_options *options, struct target *target, struct pack_result *ret,
			struct error *err);
/* Counts the files of the source and estimates the space for them. Writes nothing but temporary files. */
must_check int pack_dry_run(const struct pack_options *options, struct target *target, struct pack_estimate *ret,
			    struct tar_replaced *ret_replaced, struct error *err);
