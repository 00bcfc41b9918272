/* SPDX-License-Identifier: MIT */
/* Makes many reads with one context: cuts them into reads of the device, keeps these in flight, and reports the reads
 * that have ended. */
#pragma once
#include "lib/direct/context.h"
#include "lib/direct/plan.h"
#include "lib/fifo.h"
#include "lib/permission.h"

struct batch_files;
struct batch_file;

struct batch {
	/* The owner sets these. */
	struct context *context;
	struct dsfs_arena *arena; /* NULL: every read has a buffer */
	struct fifo *todo; /* the reads to make; a queue adds more */
	struct fifo *done; /* receives the reads that have ended, and has room for them; NULL: not wanted */
	unsigned gather;   /* reads that justify a system call while others are in flight; 0: each one does */
	struct error *err; /* receives the reason of the first read that failed or, with done, of the last one */
	/* The batch's own; the owner zeroes them. */
	struct permission permission;
	struct plan *plan;          /* has reads that were taken out of todo; NULL: none */
	size_t unplanned;           /* the first reads of todo, too few for a plan to pay off */
	struct batch_files *files;  /* the context's */
	struct batch_file *file;    /* the file whose next piece starts next */
	struct batch_file *again;   /* files that are read again from the beginning, as a read was stuck */
	const struct dsfs_read *failed;       /* the read whose reason is in err */
	uint64_t bytes;                       /* bytes that the context's slots read */
	int64_t retried;                      /* when parked reads were last retried, ns */
};

/* Begins a batch and prepares its context. many and depth: as in context_start(). */
must_check int batch_begin(struct batch *batch, bool many, unsigned depth, struct error *err);
/* Starts as many reads as there are free slots, within the limit of bytes in flight. */
void batch_start(struct batch *batch);
/* Handles reads that have ended, then starts and submits those that were added to todo; unless at_once, they may wait
 * there for others that they can be planned and submitted with. */
void batch_submit(struct batch *batch, bool at_once);
/* Submits started reads that were held back, if the device has nothing else to do, or if they are enough. */
void batch_push(struct batch *batch);
bool batch_is_over(const struct batch *batch);
/* Waits until some read ends, then starts more. limit: ns to wait at most; 0: only looks. */
#define BATCH_FOR_EVER QUEUE_FOR_EVER
void batch_wait(struct batch *batch, int64_t limit);
/* Ends a batch that has no read in flight. */
void batch_end(struct batch *batch);
