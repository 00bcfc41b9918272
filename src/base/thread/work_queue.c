/* SPDX-License-Identifier: MIT */
/* Counts how far each side has come, under one lock: jobs are so large that waiting for it does not matter. */
#include "base/thread/work_queue.h"

#include <assert.h>

void work_queue_open(struct work_queue *queue, unsigned depth, unsigned most)
{
	assert(depth <= WORK_QUEUE_MAX);
	*queue = (struct work_queue){ .depth = depth, .most = most };
	pthread_mutex_init(&queue->lock, NULL);
	pthread_cond_init(&queue->may_begin, NULL);
	pthread_cond_init(&queue->may_start, NULL);
	pthread_cond_init(&queue->may_take, NULL);
}

void work_queue_close(struct work_queue *queue)
{
	pthread_cond_destroy(&queue->may_take);
	pthread_cond_destroy(&queue->may_start);
	pthread_cond_destroy(&queue->may_begin);
	pthread_mutex_destroy(&queue->lock);
}

static uint64_t work_queue_bit(uint64_t job)
{
	return UINT64_C(1) << job % WORK_QUEUE_MAX;
}

bool work_queue_begin(struct work_queue *queue, uint64_t *ret_job)
{
	bool begins;

	pthread_mutex_lock(&queue->lock);
	while (!queue->is_stopped && queue->begun - queue->returned == queue->depth)
		pthread_cond_wait(&queue->may_begin, &queue->lock);
	begins = !queue->is_stopped;
	if (begins)
		*ret_job = queue->begun++;
	pthread_mutex_unlock(&queue->lock);
	return begins;
}

void work_queue_submit(struct work_queue *queue)
{
	pthread_mutex_lock(&queue->lock);
	assert(queue->submitted < queue->begun);
	queue->submitted++;
	pthread_cond_signal(&queue->may_start);
	pthread_mutex_unlock(&queue->lock);
}

void work_queue_end(struct work_queue *queue)
{
	pthread_mutex_lock(&queue->lock);
	queue->is_ended = true;
	pthread_cond_broadcast(&queue->may_start);
	pthread_cond_signal(&queue->may_take);
	pthread_mutex_unlock(&queue->lock);
}

/* Requires the lock. */
static bool work_queue_is_over(const struct work_queue *queue)
{
	return queue->is_stopped || (queue->is_ended && queue->started == queue->submitted);
}

bool work_queue_start(struct work_queue *queue, uint64_t *ret_job)
{
	bool starts;

	pthread_mutex_lock(&queue->lock);
	while (!work_queue_is_over(queue) &&
	       (queue->started == queue->submitted || queue->started - queue->returned == queue->most))
		pthread_cond_wait(&queue->may_start, &queue->lock);
	starts = !work_queue_is_over(queue);
	if (starts)
		*ret_job = queue->started++;
	if (work_queue_is_over(queue)) /* others may still wait for a place */
		pthread_cond_broadcast(&queue->may_start);
	pthread_mutex_unlock(&queue->lock);
	return starts;
}

void work_queue_done(struct work_queue *queue, uint64_t job)
{
	pthread_mutex_lock(&queue->lock);
	queue->done |= work_queue_bit(job);
	if (job == queue->taken)
		pthread_cond_signal(&queue->may_take);
	pthread_mutex_unlock(&queue->lock);
}

bool work_queue_take(struct work_queue *queue, uint64_t *ret_job)
{
	uint64_t bit;
	bool takes;

	pthread_mutex_lock(&queue->lock);
	bit = work_queue_bit(queue->taken);
	while (!(queue->done & bit) && !(queue->is_ended && queue->taken == queue->submitted))
		pthread_cond_wait(&queue->may_take, &queue->lock);
	takes = queue->done & bit;
	if (takes) {
		queue->done &= ~bit;
		*ret_job = queue->taken++;
	}
	pthread_mutex_unlock(&queue->lock);
	return takes;
}

void work_queue_give_back(struct work_queue *queue)
{
	pthread_mutex_lock(&queue->lock);
	assert(queue->returned < queue->taken);
	queue->returned++;
	pthread_cond_signal(&queue->may_begin);
	pthread_cond_signal(&queue->may_start);
	pthread_mutex_unlock(&queue->lock);
}

void work_queue_stop(struct work_queue *queue)
{
	pthread_mutex_lock(&queue->lock);
	queue->is_stopped = true;
	pthread_cond_broadcast(&queue->may_begin);
	pthread_cond_broadcast(&queue->may_start);
	pthread_mutex_unlock(&queue->lock);
}

unsigned work_queue_count(struct work_queue *queue)
{
	unsigned count;

	pthread_mutex_lock(&queue->lock);
	count = (unsigned)(queue->begun - queue->returned);
	pthread_mutex_unlock(&queue->lock);
	return count;
}
