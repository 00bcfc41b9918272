/* SPDX-License-Identifier: MIT */
/* A pipeline of batches: one thread fills them, many read their files, one takes them in the order they were filled. */
#pragma once
#include "content/batch.h"

/* Batches in flight. It is fixed because what a batch knows of those before it (compress_hints.c) must not depend on
 * the number of threads: while batch n is filled, batch n - PIPELINE_DEPTH has been taken and given back. Only
 * batches that are being read or wait to be taken have memory for content, if they are filled with content, those that
 * are being filled as well; batches are started in order, so the next one always has it. */
#define PIPELINE_DEPTH 48u

struct pipeline_work {
	/* Runs on any thread, with the context of that thread; the result stays in the batch. */
	int (*work)(void *context, struct batch *batch, struct error *err);
	void *(*context_new)(const void *argument); /* NULL without memory */
	void (*context_free)(void *context);
	const void *argument;
	bool loads; /* batches are filled with content: they have memory from the beginning */
};

struct pipeline;

must_check int pipeline_open(const struct pipeline_work *work, unsigned jobs, bool frames, struct pipeline **ret,
			     struct error *err);
void pipeline_close(struct pipeline *pipeline);

/* For the thread that fills. begin: an empty batch; -ECANCELED once the pipeline was stopped. */
must_check int pipeline_begin(struct pipeline *pipeline, struct batch **ret, struct error *err);
void pipeline_submit(struct pipeline *pipeline, struct batch *batch);
/* There are no more batches. The taker gets result, 0 or an error, after the last one. */
void pipeline_end(struct pipeline *pipeline, int result, const struct error *err);

/* For the thread that takes. 1 and the next batch, 0 at the end, or the first error in the order of batches. */
must_check int pipeline_take(struct pipeline *pipeline, struct batch **ret, struct error *err);
void pipeline_give_back(struct pipeline *pipeline, struct batch *batch);
void pipeline_stop(struct pipeline *pipeline);
