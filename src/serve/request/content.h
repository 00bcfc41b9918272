/* SPDX-License-Identifier: MIT */
/* Answers READ with a read of an opened version. */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "fuse/channel.h"
#include "fuse/payloads.h"
#include "read/queue.h"
#include "serve/readahead/kept.h"
#include "serve/worker/worker.h"

/* The state of one READ: one for each slot of a worker's channel, and as many spare ones if the volume has several
 * members. */
struct content {
	struct queue_slot read; /* must be the first field */
	struct worker *worker;
	struct channel_request *request; /* a spare content takes it over if this one's read is stuck in a device */
	struct generation *generation; /* holds a use of it */
	uint8_t *payload; /* a spare content's buffer, which its request takes over; NULL: requests keep their own */
	bool was_announced; /* the file was read ahead because a user announced it, not for a walker */
	struct kept_waiter waiter;     /* waits for a file that is being read ahead */
	struct worker_task task;       /* continues the READ when that file arrived */
};

/* Flags for work that other threads leave to the worker's thread, see waiting.c. */
struct content_errand {
	struct worker_task task;
	struct worker *worker;
	_Atomic bool posted;
	_Atomic bool retry; /* try parked reads again */
	_Atomic bool renew; /* register the volume's descriptors again, as one changed */
	_Atomic bool leave; /* begin stuck reads again at another member */
};

/* All READ states of a worker, worker->contents. */
struct contents {
	struct queue queue;       /* of contents: those of the channel's slots stay taken, the free ones are spare */
	struct payloads payloads; /* buffers of spare contents */
	_Atomic(struct content *) *slot; /* content of each slot; any thread may load it */
	/* A read failed because of the path to the device, but was not parked, because of on_error=eio or another copy.
	 * The volume may have moved to another device. */
	_Atomic bool path_failed;
	struct content_errand errand;
};

/* The content that serves this slot. Any thread may call this. */
static inline struct content *content_at(const struct worker *worker, size_t slot)
{
	return atomic_load_explicit(&worker->contents->slot[slot], memory_order_acquire);
}

/* Sets up worker->contents, worker->queue and worker->reading. Call it when worker->slots is known, before the thread
 * runs. */
must_check int content_open(struct worker *worker, struct error *err);
/* Frees all that content_open() sets up, after the thread has ended. Call it even if content_open() failed or was not
 * called. */
void content_close(struct worker *worker);

/* Answers a READ, at once or when the device has completed it. */
void content_read(struct worker *worker, struct channel_request *request);
