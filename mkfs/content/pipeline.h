/* SPDX-License-Identifier: MIT */
/* Runs a pipeline of batches: one thread fills them, many read their files, one takes them in the order of filling. */
#pragma once
#include "content/batch.h"

/* Batches in flight. The number is fixed because the results of earlier batches that a batch uses (compress_hints.c)
 * must not depend on the number of threads: while batch n is filled, batch n - PIPELINE_DEPTH has been taken and given
 * back. Only batches that are being read or wait to be taken have memory for content, and with .loads also those being
 * filled. Readers start batches in order, so the next one to be taken always has memory. */
#define PIPELINE_DEPTH 48u

struct pipeline_work {
	/* Runs on any thread, with the context of that thread; the result stays in the batch. */
	int (*work)(void *context, struct batch *batch, struct error *err);
	void *(*context_new)(const void *argument); /* NULL: out of memory */
	void (*context_free)(void *context);
	const void *argument;
	bool loads; /* the filling thread adds content: batches have memory from the beginning */
};

struct pipeline;

must_check int pipeline_open(const struct pipeline_work *work, unsigned jobs, bool frames, struct pipeline **ret,
			     struct error *err);
void pipeline_close(struct pipeline *pipeline);

/* Returns an empty batch to the thread that fills; -ECANCELED once the pipeline was stopped. */
must_check int pipeline_begin(struct pipeline *pipeline, struct batch **ret, struct error *err);
/* Hands the batch that was begun last to the threads: at most one is begun and not submitted. */
void pipeline_submit(struct pipeline *pipeline);
/* Says that no more batches will come. The thread that takes gets result, 0 or an error, after the last batch. */
void pipeline_end(struct pipeline *pipeline, int result, const struct error *err);

/* Returns 1 and the next batch to the thread that takes, 0 at the end, or the first error in the order of batches. */
must_check int pipeline_take(struct pipeline *pipeline, struct batch **ret, struct error *err);
void pipeline_give_back(struct pipeline *pipeline, struct batch *batch);
void pipeline_stop(struct pipeline *pipeline);
