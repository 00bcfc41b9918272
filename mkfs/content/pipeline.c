/* SPDX-License-Identifier: MIT */
/* Keeps a ring of batches under one lock. Batches are so large that the lock does not matter. */
#include "content/pipeline.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define PIPELINE_MEMORIES 4u /* per thread: the batch that it reads, and others that wait to be taken */

struct pipeline {
	struct pipeline_work work;
	pthread_mutex_t mutex;
	pthread_cond_t filled, done, free;
	struct batch *batches[PIPELINE_DEPTH];
	struct batch_memory idle[PIPELINE_DEPTH]; /* a stack: memory that is never needed is never touched */
	unsigned idle_count;
	uint64_t begun, submitted, started, taken, returned; /* batches so far */
	bool stop, ended;
	int result;
	struct error error;
	pthread_t *threads;
	unsigned thread_count;
};

static struct batch *pipeline_batch(struct pipeline *pipeline, uint64_t number)
{
	return pipeline->batches[number % PIPELINE_DEPTH];
}

static struct batch *pipeline_start(struct pipeline *pipeline)
{
	struct batch *batch = NULL;

	pthread_mutex_lock(&pipeline->mutex);
	while (!pipeline->stop && (pipeline->started == pipeline->submitted ||
				   (!pipeline->work.loads && !pipeline->idle_count)))
		pthread_cond_wait(&pipeline->filled, &pipeline->mutex);
	if (!pipeline->stop) {
		batch = pipeline_batch(pipeline, pipeline->started++);
		if (!pipeline->work.loads)
			batch_lend(batch, pipeline->idle[--pipeline->idle_count]);
	}
	pthread_mutex_unlock(&pipeline->mutex);
	return batch;
}

static void pipeline_finish(struct pipeline *pipeline, struct batch *batch)
{
	pthread_mutex_lock(&pipeline->mutex);
	batch->done = true;
	if (batch->number == pipeline->taken)
		pthread_cond_signal(&pipeline->done);
	pthread_mutex_unlock(&pipeline->mutex);
}

static void *pipeline_run(void *argument)
{
	struct pipeline *pipeline = argument;
	void *context = pipeline->work.context_new(pipeline->work.argument);
	struct batch *batch;

	while ((batch = pipeline_start(pipeline))) {
		if (context)
			batch->result = pipeline->work.work(context, batch, &batch->error);
		else
			batch->result = error_no_memory(&batch->error);
		pipeline_finish(pipeline, batch);
	}
	if (context)
		pipeline->work.context_free(context);
	return NULL;
}

static int pipeline_open_batches(struct pipeline *pipeline, unsigned jobs, bool frames, struct error *err)
{
	unsigned memories = jobs < PIPELINE_DEPTH / PIPELINE_MEMORIES ? jobs * PIPELINE_MEMORIES : PIPELINE_DEPTH;
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
	int r;

	pipeline->threads = calloc(jobs, sizeof(*pipeline->threads));
	if (!pipeline->threads)
		return error_no_memory(err);
	for (; pipeline->thread_count < jobs; pipeline->thread_count++) {
		r = pthread_create(&pipeline->threads[pipeline->thread_count], NULL, pipeline_run, pipeline);
		if (r)
			return error_set(err, -r, "cannot start a thread: %s", strerror(r));
	}
	return 0;
}

int pipeline_open(const struct pipeline_work *work, unsigned jobs, bool frames, struct pipeline **ret,
		  struct error *err)
{
	struct pipeline *pipeline = calloc(1, sizeof(*pipeline));
	int r;

	if (!pipeline)
		return error_no_memory(err);
	pipeline->work = *work;
	pthread_mutex_init(&pipeline->mutex, NULL);
	pthread_cond_init(&pipeline->filled, NULL);
	pthread_cond_init(&pipeline->done, NULL);
	pthread_cond_init(&pipeline->free, NULL);
	r = pipeline_open_batches(pipeline, jobs, frames, err);
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
	for (unsigned i = 0; i < pipeline->thread_count; i++)
		pthread_join(pipeline->threads[i], NULL);
	for (unsigned i = 0; i < PIPELINE_DEPTH; i++)
		if (pipeline->batches[i])
			pipeline_close_batch(pipeline->batches[i]);
	for (unsigned i = 0; i < pipeline->idle_count; i++)
		batch_memory_close(&pipeline->idle[i]);
	free(pipeline->threads);
	pthread_cond_destroy(&pipeline->free);
	pthread_cond_destroy(&pipeline->done);
	pthread_cond_destroy(&pipeline->filled);
	pthread_mutex_destroy(&pipeline->mutex);
	free(pipeline);
}

int pipeline_begin(struct pipeline *pipeline, struct batch **ret, struct error *err)
{
	struct batch *batch = NULL;

	pthread_mutex_lock(&pipeline->mutex);
	while (!pipeline->stop && (pipeline->begun - pipeline->returned == PIPELINE_DEPTH ||
				   (pipeline->work.loads && !pipeline->idle_count)))
		pthread_cond_wait(&pipeline->free, &pipeline->mutex);
	if (!pipeline->stop) {
		batch = pipeline_batch(pipeline, pipeline->begun);
		batch->number = pipeline->begun++;
		if (pipeline->work.loads)
			batch_lend(batch, pipeline->idle[--pipeline->idle_count]);
	}
	pthread_mutex_unlock(&pipeline->mutex);
	if (!batch)
		return error_set(err, -ECANCELED, "stopped");
	*ret = batch;
	return 0;
}

void pipeline_submit(struct pipeline *pipeline, struct batch *batch)
{
	(void)batch; /* the only one begun and not submitted */
	pthread_mutex_lock(&pipeline->mutex);
	pipeline->submitted++;
	pthread_cond_signal(&pipeline->filled);
	pthread_mutex_unlock(&pipeline->mutex);
}

void pipeline_end(struct pipeline *pipeline, int result, const struct error *err)
{
	pthread_mutex_lock(&pipeline->mutex);
	pipeline->ended = true;
	pipeline->result = result;
	pipeline->error = *err;
	pthread_cond_signal(&pipeline->done);
	pthread_mutex_unlock(&pipeline->mutex);
}

/* Waits for the next batch to be read, with the lock held; NULL at the end. */
static struct batch *pipeline_wait(struct pipeline *pipeline)
{
	for (;;) {
		struct batch *batch = pipeline_batch(pipeline, pipeline->taken);

		if (pipeline->taken < pipeline->submitted && batch->done)
			return batch;
		if (pipeline->ended && pipeline->taken == pipeline->submitted)
			return NULL;
		pthread_cond_wait(&pipeline->done, &pipeline->mutex);
	}
}

int pipeline_take(struct pipeline *pipeline, struct batch **ret, struct error *err)
{
	const struct error *why = &pipeline->error;
	struct batch *batch;
	int r;

	pthread_mutex_lock(&pipeline->mutex);
	batch = pipeline_wait(pipeline);
	if (batch) {
		pipeline->taken++;
		r = batch->result;
		why = &batch->error;
	} else {
		r = pipeline->result;
	}
	pthread_mutex_unlock(&pipeline->mutex);
	if (r < 0)
		return error_pass(err, r, why);
	*ret = batch;
	return batch != NULL;
}

void pipeline_give_back(struct pipeline *pipeline, struct batch *batch)
{
	struct batch_memory memory = batch_take_back(batch);

	batch_clear(batch);
	pthread_mutex_lock(&pipeline->mutex);
	pipeline->returned++;
	pipeline->idle[pipeline->idle_count++] = memory;
	pthread_cond_signal(&pipeline->free);
	pthread_cond_signal(&pipeline->filled); /* a reader may be waiting for memory */
	pthread_mutex_unlock(&pipeline->mutex);
}

void pipeline_stop(struct pipeline *pipeline)
{
	pthread_mutex_lock(&pipeline->mutex);
	pipeline->stop = true;
	pthread_cond_broadcast(&pipeline->filled);
	pthread_cond_broadcast(&pipeline->free);
	pthread_mutex_unlock(&pipeline->mutex);
}
