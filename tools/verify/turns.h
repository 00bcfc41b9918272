/* SPDX-License-Identifier: MIT */
/* Shares the parts of a check among threads: each takes the next ones, until all are taken, a thread fails or a signal
 * comes. */
#pragma once
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

#define TURNS_JOBS_MAX 256u

/* Returns the default number of threads. Reads in flight matter more than CPUs, so a small machine also gets a few. */
unsigned turns_default_jobs(void);

/* Begins zeroed but for end and, perhaps, next. */
struct turns {
	pthread_mutex_t lock; /* guards the fields below while threads run; held in a turn */
	uint64_t next, end;   /* parts: all before next are done, or a thread has them */
	struct error err;     /* the first failure; -EINTR: a signal came */
	int64_t shown;        /* when progress was due last, by clock_now() */
};

/* Runs work() in so many threads, or in fewer if the system gives no more, and returns the first failure. */
must_check int turns_share(struct turns *turns, unsigned jobs, void (*work)(void *argument), void *argument,
			   struct error *err);
/* Notes that a thread failed, which has done none of the parts from first on: the next run begins there. */
void turns_fail(struct turns *turns, uint64_t first, const struct error *err);

/* Begins a turn; no other thread has one before turns_end(). False: there is no part to take. */
bool turns_begin(struct turns *turns);
/* In a turn: whether to show progress, which is so five times a second at most. */
bool turns_show(struct turns *turns);
/* Ends a turn, in which the thread has taken so many parts. */
void turns_end(struct turns *turns, uint64_t taken);
