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

/* The caller zeroes the struct, and sets `end` and perhaps `next`. */
struct turns {
	pthread_mutex_t lock; /* guards the fields below while threads run; held in a turn */
	uint64_t next, end;   /* parts: all before next are done, or a thread has them */
	struct error err;     /* the first failure; -EINTR: a signal came */
	int64_t shown;        /* when progress was due last, by clock_now() */
};

/* Runs work() in `jobs` threads, or in fewer if the system grants no more, and returns the first failure. */
must_check int turns_share(struct turns *turns, unsigned jobs, void (*work)(void *argument), void *argument,
			   struct error *err);
/* Notes that the calling thread failed and has done none of its parts from `first` on: the next run begins there. */
void turns_fail(struct turns *turns, uint64_t first, const struct error *err);

/* Begins a turn; no other thread has one before turns_end(). False: there is no part to take. */
bool turns_begin(struct turns *turns);
/* Whether to show progress now, which is true five times a second at most. Call it in a turn. */
bool turns_show(struct turns *turns);
/* Ends a turn. taken: the number of parts that the thread took in it. */
void turns_end(struct turns *turns, uint64_t taken);
