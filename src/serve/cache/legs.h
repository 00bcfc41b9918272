/* SPDX-License-Identifier: MIT */
/* The reads of the volume that fill the cache: legs of up to 1 MiB, each of as many files as lie side by side. The
 * bytes are verified and go into the cache; no reader waits for them. They belong to one thread. */
#pragma once
#include "base/thread/wake.h"
#include "read/queue.h"
#include "serve/serve.h"
#include "serve/worker/counters.h"

#define LEGS_MOST     4u  /* under way at a time, if the window of the mount allows that */
#define LEGS_FAILURES 16u /* files in a row after which the volume counts as one that cannot be read */

/* A file, and where the part of it begins that is to be read first. */
struct legs_file {
	uint64_t address, ordinal;
};

struct legs {
	struct serve *serve;
	const struct wake *wake; /* the thread's, which ends a wait */
	struct queue queue;
	bool is_open;
	struct reader_options options;
	struct file_geometry geometry[DSFS_MEMBER_MAX + 1]; /* copies: the thread may outlive the volume */
	_Atomic bool goes_on;    /* false: the thread has to end */
	_Atomic uint64_t wanted; /* 0: reads end with their present round, or do not begin */
	/* Of the job: */
	const struct generation *generation;
	uint64_t files, bytes; /* that were read; bytes of contents */
	unsigned failures; /* files that could not be read, since the last leg that brought one */
	/* Of the pass: */
	bool was_left;   /* a leg was left to a device */
	uint64_t failed; /* files that cannot be read */
	uint64_t first;  /* ordinal of the first of them */
	struct error why; /* the reason why that one cannot; code 0: all can */
};

/* Gets memory and an engine, on the thread that will use them; nothing is done if they are there. */
must_check int legs_open(struct legs *legs, struct counters *counters, struct error *err);
/* Gives them back, unless a device keeps reads. A zeroed struct may be closed, too. */
void legs_close(struct legs *legs);
/* Begins a job; the caller keeps its version open. */
void legs_begin(struct legs *legs, const struct generation *generation);
/* Begins a pass over files of the job; some may have failed in the one before. */
void legs_begin_pass(struct legs *legs);

/* Begins a leg with the first of these files. Returns how many were taken. */
size_t legs_read(struct legs *legs, const struct legs_file *files, size_t count);
/* Waits until a leg has ended or the thread is woken, for ns at most. */
void legs_wait(struct legs *legs, int64_t limit);
/* Whether it makes no sense to go on. */
static inline bool legs_fail(const struct legs *legs)
{
	return legs->failures >= LEGS_FAILURES;
}

/* Ends the job: reads that wait for the window do not begin. */
void legs_cancel(struct legs *legs);
/* The volume's descriptors refer to other files now. */
void legs_renew(struct legs *legs);
