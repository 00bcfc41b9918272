/* SPDX-License-Identifier: MIT */
/* Passes batches through a work queue. The queue starts only as many batches as there are struct batch_memory, so one
 * of these is always idle then. */
#include "content/pipeline.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/thread/thread.h"
#include "base/thread/work_queue.h"

#define PIPELINE_MEMORIES 4u /* per thread: the batch that it reads, and others that wait to be taken */

struct pipeline {
	struct pipeline_work work;
	struct work_queue queue;
	struct batch *batches[PIPELINE_DEPTH];
	pthread_mutex_t lock; /* protects the next two */
	struct batch_memory idle[PIPELINE_DEPTH]; /* a stack: memory that is never needed is never touched */
	unsigned idle_count;
	int result; /* from pipeline_end(), with its error */
	struct error error;
	struct thread *threads;
	unsigned thread_count;
};

static struct batch *pipeline_batch(struct pipeline *pipeline, uint64_t number)
{
	return pipeline->batches[number % PIPELINE_DEPTH];
}

static void pipeline_lend(struct pipeline *pipeline, struct batch *batch)
{
	pthread_mutex_lock(&pipeline->lock);
	batch_lend(batch, pipeline->idle[--pipeline->idle_count]);
	pthread_mutex_unlock(&pipeline->lock);
}

static void pipeline_run(void *argument)
{
	struct pipeline *pipeline = argument;
	void *context = pipeline->work.context_new(pipeline->work.argument);
	struct batch *batch;
	uint64_t number;

	while (work_queue_start(&pipeline->queue, &number)) {
		batch = pipeline_batch(pipeline, number);
		if (!pipeline->work.loads)
			pipeline_lend(pipeline, batch);
		if (context)
			batch->result = pipeline->work.work(context, batch, &batch->error);
		else
			batch->result = error_no_memory(&batch->error);
		work_queue_done(&pipeline->queue, number);
	}
	if (context)
		pipeline->work.context_free(context);
}

static int pipeline_open_batches(struct pipeline *pipeline, unsigned memories, bool frames, struct error *err)
{
	int r = 0;

	for (unsigned i = 0; i < PIPELINE_DEPTH; i++) {
		pipeline->batches[i] = calloc(1, sizeof(struct batch));
		if (!pipeline->batches[i])
			return error_no_memory(err);
	}
	while (r == 0 && pipeline->idle_count < memories)
		r = batch_memory_open(&pipeline->idle[pipeline->idle_count++], frames, err);
	return r;
}

static int pipeline_open_threads(struct pipeline *pipeline, unsigned jobs, struct error *err)
{
	const struct thread_setup setup = { .run = pipeline_run, .argument = pipeline };

	pipeline->threads = calloc(jobs, sizeof(*pipeline->threads));
	if (!pipeline->threads)
		return error_no_memory(err);
	pipeline->thread_count = jobs;
	return thread_start(pipeline->threads, jobs, &setup, err);
}

int pipeline_open(const struct pipeline_work *work, unsigned jobs, bool frames, struct pipeline **ret,
		  struct error *err)
{
	unsigned memories = jobs < PIPELINE_DEPTH / PIPELINE_MEMORIES ? jobs * PIPELINE_MEMORIES : PIPELINE_DEPTH;
	struct pipeline *pipeline = calloc(1, sizeof(*pipeline));
	int r;

	if (!pipeline)
		return error_no_memory(err);
	pipeline->work = *work;
	pthread_mutex_init(&pipeline->lock, NULL);
	work_queue_open(&pipeline->queue, work->loads ? memories : PIPELINE_DEPTH, memories);
	r = pipeline_open_batches(pipeline, memories, frames, err);
	if (r == 0)
		r = pipeline_open_threads(pipeline, jobs, err);
	if (r < 0) {
		pipeline_close(pipeline);
		return r;
	}
	*ret = pipeline;
	return 0;
}

/* Frees the batch, after the threads have ended. */
static void pipeline_close_batch(struct batch *batch)
{
	struct batch_memory memory = batch_take_back(batch);

	batch_memory_close(&memory);
	batch_clear(batch);
	free(batch);
}

void pipeline_close(struct pipeline *pipeline)
{
	if (!pipeline)
		return;
	pipeline_stop(pipeline);
	thread_join_all(pipeline->threads, pipeline->thread_count);
	for (unsigned i = 0; i < PIPELINE_DEPTH; i++)
		if (pipeline->batches[i])
			pipeline_close_batch(pipeline->batches[i]);
	for (unsigned i = 0; i < pipeline->idle_count; i++)
		batch_memory_close(&pipeline->idle[i]);
	free(pipeline->threads);
	work_queue_close(&pipeline->queue);
	pthread_mutex_destroy(&pipeline->lock);
	free(pipeline);
}

int pipeline_begin(struct pipeline *pipeline, struct batch **ret, struct error *err)
{
	struct batch *batch;
	uint64_t number;

	if (!work_queue_begin(&pipeline->queue, &number))
		return error_set(err, -ECANCELED, "stopped");
	batch = pipeline_batch(pipeline, number);
	batch->number = number;
	if (pipeline->work.loads)
		pipeline_lend(pipeline, batch);
	*ret = batch;
	return 0;
}

void pipeline_submit(struct pipeline *pipeline)
{
	work_queue_submit(&pipeline->queue);
}

void pipeline_end(struct pipeline *pipeline, int result, const struct error *err)
{
	pipeline->result = result;
	pipeline->error = *err;
	work_queue_end(&pipeline->queue);
}

int pipeline_take(struct pipeline *pipeline, struct batch **ret, struct error *err)
{
	struct batch *batch;
	uint64_t number;

	if (!work_queue_take(&pipeline->queue, &number))
		return pipeline->result < 0 ? error_pass(err, pipeline->result, &pipeline->error) : 0;
	batch = pipeline_batch(pipeline, number);
	if (batch->result < 0)
		return error_pass(err, batch->result, &batch->error);
	*ret = batch;
	return 1;
}

void pipeline_give_back(struct pipeline *pipeline, struct batch *batch)
{
	struct batch_memory memory = batch_take_back(batch);

	batch_clear(batch);
	pthread_mutex_lock(&pipeline->lock);
	pipeline->idle[pipeline->idle_count++] = memory;
	pthread_mutex_unlock(&pipeline->lock);
	work_queue_give_back(&pipeline->queue);
}

void pipeline_stop(struct pipeline *pipeline)
{
	work_queue_stop(&pipeline->queue);
}
