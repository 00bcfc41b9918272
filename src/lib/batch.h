/* SPDX-License-Identifier: MIT */
/* Many reads by one lane: cuts them into reads of the device, keeps these going, and says which have ended. */
#pragma once
#include "lib/fifo.h"
#include "lib/lane.h"
#include "lib/permission.h"

struct batch_slots;
struct batch_file;

struct batch {
	/* Set by the owner. */
	struct lane *lane;
	struct dsfs_arena *arena; /* NULL: every read has a buffer */
	struct dsfs_read *reads;  /* that are to be made, of these count; and behind them those in todo */
	size_t count;
	struct fifo *todo; /* NULL: none */
	struct fifo *done; /* gets those that have ended, and has room for them; NULL: nobody asks */
	unsigned gather;   /* reads that are worth a system call while others are under way; 0: each is */
	struct error *err; /* gets why the first of reads failed that did, or with todo the last one */
	/* The batch's, zeroed. */
	struct permission permission;
	struct batch_slots *slots;  /* the lane's */
	struct batch_file *file;    /* the one of which more is to be started */
	struct batch_file *parted;  /* whose reads are to be made one by one */
	struct batch_file *again;   /* that are to be read from the beginning: they were stuck */
	const struct dsfs_read *failed;       /* whose reason err has */
	unsigned busy;                        /* slots */
	uint64_t bytes;                       /* that they read */
	int64_t retried;                      /* when parked reads were tried last, ns */
};

/* As lane_start(). */
must_check int batch_begin(struct batch *batch, bool many, unsigned depth, struct error *err);
/* Starts what can be started. */
void batch_start(struct batch *batch);
/* The same, after what has ended; without a system call for it. */
void batch_look(struct batch *batch);
/* Whether what was started, and so many more, may wait for others until the kernel gets them. Not when the device has
 * nothing else to do. */
bool batch_gathers(const struct batch *batch, size_t more);
/* Hands over what was started. */
void batch_push(struct batch *batch);
bool batch_is_over(const struct batch *batch);
/* Waits until something has ended, and starts what can be started then; so many ns at most, 0: looks only. */
#define BATCH_FOR_EVER INT64_MAX
void batch_wait(struct batch *batch, int64_t limit);
/* Nothing is under way. */
void batch_end(struct batch *batch);
