/* SPDX-License-Identifier: MIT */
/* Packing as a whole: what is asked for, what came of it. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "filter.h"
#include "image/catalogue.h"
#include "progress.h"

struct target;

enum pack_compress { PACK_RAW, PACK_ZSTD, PACK_AUTO };

struct pack_options {
	const char *volume, *source;
	const char *label; /* NULL: v1, v2, … */
	bool force, format, no_current;
	bool write_protect; /* the namespace, between publishes */
	bool preempt;       /* take another host's reservation away */
	enum pack_compress compress;
	int level;
	uint32_t chunk_log;
	uint32_t segment_log; /* of a new volume; 0: the default for its size */
	unsigned jobs;        /* 0: one for each CPU */
	struct filter *filter;
	const char *from_list; /* NULL: everything */
	const char *temp_dir;  /* NULL: chosen */
	bool refuse_special;
	bool dry_run;
	bool json;
	enum progress_kind progress;
	bool trust_mtime;
	const char *trusted; /* label of the version to trust, NULL: the current one */
	bool has_uuid;
	uint8_t uuid[16]; /* of a new volume */
};

struct pack_result {
	char label[DSFS_LABEL_MAX + 1];
	uint64_t sequence;
	uint8_t volume_uuid[16], version_uuid[16];
	uint8_t digest[32];
	bool current;
	uint64_t files, directories, symlinks, hard_links, special;
	uint64_t clamped;        /* times that the format cannot hold */
	uint64_t content_bytes;
	uint64_t stored_bytes;   /* of chunks, padding included */
	uint64_t shared_bytes;   /* content that lay on the volume already */
	uint64_t hole_bytes;
	uint64_t read_bytes;     /* of the source */
	uint64_t written_bytes;  /* to the volume: chunks, index, memory of the source, fine sums, catalogue */
	uint64_t unchanged;      /* files taken from an earlier version without opening them */
	uint64_t index_bytes;
	uint64_t fine_bytes;     /* fine sums, for parts of large files */
	uint64_t volume_bytes;   /* size of the volume afterwards */
	double seconds;
};

/* What a dry run found. */
struct pack_estimate {
	uint64_t files, directories, symlinks, hard_links, special;
	uint64_t content_bytes;
	uint64_t index_bytes, fine_bytes, temporary_bytes, image_bytes; /* at most: nothing shared or compressed, no holes */
	uint64_t free_bytes;
	uint32_t versions; /* on the volume; what they have already would be shared */
	bool fits;
};

#define PACK_CHUNK_LOG   17u
#define PACK_SEGMENT_LOG 24u

void pack_options_init(struct pack_options *options);
void pack_options_free(struct pack_options *options);

/* Publishes the source as a new version on an open target. On failure the target is still to be closed with
 * target_close(), which puts it back to what it was. */
must_check int pack_run(const struct pack_options *options, struct target *target, struct pack_result *ret,
			struct error *err);
/* Counts and estimates; writes nothing but temporary files. */
must_check int pack_dry_run(const struct pack_options *options, struct target *target, struct pack_estimate *ret,
			    struct error *err);
