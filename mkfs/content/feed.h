/* SPDX-License-Identifier: MIT */
/* Fills batches with items and submits full ones to the pipeline. */
#pragma once
#include "base/span.h"
#include "content/compress_hints.h"
#include "content/pipeline.h"
#include "options/pack_options.h"

struct feed {
	const struct pack_options *options;
	struct pipeline *pipeline;
	struct compress_hints *hints;
	struct batch *batch; /* the batch being filled; NULL: there is none */
};

/* Adds an item to the batch being filled, or to the pipeline's next one if that has no room for it. */
must_check int feed_add(struct feed *feed, struct dirfd *dir, struct span name, size_t content, struct item **ret,
			struct error *err);
/* Decides by the options and the item's name whether the reader tries to compress the item that was just added. */
void feed_choose(const struct feed *feed, struct item *item);
void feed_flush(struct feed *feed); /* submits the last batch; before pipeline_end() */
