/* SPDX-License-Identifier: MIT */
/* Estimates the space for a publish from the scan alone, without reading files. */
#pragma once
#include "source/scan.h"
#include "volume/space/space.h"

struct estimate;
struct target;

/* The result of a dry run. */
struct pack_estimate {
	uint64_t files, directories, symlinks, hard_links, special;
	uint64_t content_bytes;
	uint64_t least_bytes; /* of content, if everything that may be a hole is one */
	/* upper bounds, as if nothing were shared or compressed and there were no holes */
	uint64_t index_bytes, block_sums_bytes, temporary_bytes, image_bytes;
	uint64_t free_bytes;
	uint32_t versions; /* on the volume; their content would be shared */
	bool fits;
};

/* is_random: small files are stored in a random order. */
must_check int estimate_open(uint32_t chunk_log, uint32_t sums, bool is_random, struct estimate **ret,
			     struct error *err);
void estimate_free(struct estimate *estimate);
struct scan_sink estimate_sink(struct estimate *estimate);
/* Determines the free space on the devices, or on the filesystem of the volume's first file. */
must_check int estimate_free_bytes(const struct target *target, uint64_t *ret, struct error *err);
must_check int estimate_end(const struct estimate *estimate, const struct scan_counts *counts,
			    const struct target *target, struct pack_estimate *ret,
			    struct error *err);
