/* SPDX-License-Identifier: MIT */
/* Batches in order: one thread fills them, many read their files, one takes them in the order they were filled. */
#pragma once
#include "content/batch.h"

/* Batches in flight. Fixed, because what a batch may know of earlier ones (compress_hints.c) must not depend on the
 * number of threads: when batch n is being filled, batch n - PIPELINE_DEPTH was taken and given back. Memory for
 * content is for those only that are being read or wait to be taken; batches are started in order, so the next one
 * always has it. */
#define PIPELINE_DEPTH 48u

struct pipeline_work {
	/* Runs on a thread of its own context; the result stays in the batch. */
	int (*work)(void *context, struct batch *batch, struct error *err);
	void *(*context_new)(const void *argument); /* NULL without memory */
	void (*context_free)(void *context);
	const void *argument;
};

struct pipeline;

must_check int pipeline_open(const struct pipeline_work *work, unsigned jobs, bool frames, struct pipeline **ret,
			     struct error *err);
void pipeline_close(struct pipeline *pipeline);

/* For the filler. begin: an empty batch; -ECANCELED once the pipeline was stopped. */
must_check int pipeline_begin(struct pipeline *pipeline, struct batch **ret, struct error *err);
void pipeline_submit(struct pipeline *pipeline, struct batch *batch);
/* Nothing more comes: result 0, or why, which the taker gets after the last batch. */
void pipeline_end(struct pipeline *pipeline, int result, const struct error *err);

/* For the taker. 1 and the next batch, 0 at the end, or the first failure in order. */
must_check int pipeline_take(struct pipeline *pipeline, struct batch **ret, struct error *err);
void pipeline_give_back(struct pipeline *pipeline, struct batch *batch);
void pipeline_stop(struct pipeline *pipeline);
