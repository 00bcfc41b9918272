/* SPDX-License-Identifier: MIT */
/* Takes what the scan tells: names go to the index, inodes into batches. */
#pragma once
#include "content/kinds.h"
#include "content/pipeline.h"
#include "content/trust.h"
#include "image/index.h"
#include "options/pack_options.h"
#include "source/scan.h"

struct feed {
	const struct pack_options *options;
	struct pipeline *pipeline;
	struct index_writer *names;
	struct kinds *kinds;
	const struct trust *trust; /* NULL: every file is read */
	uint64_t trust_device; /* inode numbers are those of this filesystem; 0: not known yet */
	uint64_t trust_next;   /* ordinal that the next file may have had; 0: no idea */
	struct batch *batch; /* being filled */
};

struct scan_sink feed_sink(struct feed *feed);
void feed_flush(struct feed *feed); /* after the scan */
