/* SPDX-License-Identifier: MIT */
/* Hands jobs to threads in order, and takes them back in the same order. A job is a number, counted from 0; the caller
 * keeps the data of job n in element n % depth of an array, or in a larger array. One thread gives the jobs, and one
 * takes them back: it may be the same. */
#pragma once
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define WORK_QUEUE_MAX 64u /* limit of depth */

struct work_queue {
	pthread_mutex_t lock; /* protects all below but the limits */
	pthread_cond_t may_begin, may_start, may_take;
	unsigned depth;       /* the most jobs that are begun and not given back */
	unsigned most;        /* the most jobs that are started and not given back */
	uint64_t begun, submitted, started, taken, returned; /* jobs so far */
	uint64_t done;        /* a bit for each job that is done and not taken */
	bool is_ended, is_stopped;
};

void work_queue_open(struct work_queue *queue, unsigned depth, unsigned most);
/* Must be called when no thread uses the queue any more. */
void work_queue_close(struct work_queue *queue);

/* ---- the thread that gives jobs ---- */

/* Waits until there is room, and begins a job. False: the queue was stopped. */
bool work_queue_begin(struct work_queue *queue, uint64_t *ret_job);
/* Hands the job that was begun to the threads. */
void work_queue_submit(struct work_queue *queue);
/* Says that no more jobs will come, so that threads end after the last one. */
void work_queue_end(struct work_queue *queue);

/* ---- threads ---- */

/* Waits for the next job. False: there will be none. */
bool work_queue_start(struct work_queue *queue, uint64_t *ret_job);
void work_queue_done(struct work_queue *queue, uint64_t job);

/* ---- the thread that takes them back ---- */

/* Waits until the next job in order is done. False: the queue has ended, and this was the last one. */
bool work_queue_take(struct work_queue *queue, uint64_t *ret_job);
/* Gives back the place of the oldest job that was taken. */
void work_queue_give_back(struct work_queue *queue);

/* Stops the queue: no more jobs begin or start. Jobs under way are finished; jobs that have not started never will be,
 * so no thread may wait for them. Any thread may call it. */
void work_queue_stop(struct work_queue *queue);
/* Returns the number of jobs that are begun and not given back. Any thread may call it. */
unsigned work_queue_count(struct work_queue *queue);
