/* SPDX-License-Identifier: MIT */
/* Answers READ with a read of an opened version. */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "fuse/channel.h"
#include "fuse/payloads.h"
#include "read/read.h"
#include "serve/ahead/kept.h"
#include "serve/worker/worker.h"

/* One for each slot of a worker's channel, and of a volume of several members as many spare ones. */
struct content {
	struct read_op op; /* the first member */
	struct worker *worker;
	struct channel_request *request; /* NULL: another content has it, and a device keeps a read of this one */
	struct generation *generation; /* with a use */
	uint8_t *scratch;
	uint8_t *payload; /* of a spare one, which the request takes with it; NULL where requests keep theirs */
	struct content *next_spare;
	/* What is asked for, for the standby, as worker->reading. */
	_Atomic uint64_t offset;
	_Atomic uint32_t size;
	bool was_announced; /* by a user, what was read ahead for this READ; else a walker came to it */
	struct kept_waiter waiter;     /* for what is being read ahead, */
	struct worker_task task;       /* and to go on when that is there */
};

/* What the watchdog wants done on the worker's thread, see waiting.c. */
struct content_errand {
	struct worker_task task;
	struct worker *worker;
	_Atomic bool posted;
	_Atomic bool retry; /* what is parked */
	_Atomic bool renew; /* the volume's descriptor leads elsewhere */
	_Atomic bool leave; /* what is stuck */
};

/* All of a worker, worker->contents. */
struct contents {
	struct reader reader;
	size_t count;             /* of list */
	uint8_t *scratch;         /* count * READ_SCRATCH */
	struct payloads payloads; /* of spare ones */
	struct content *spare;    /* the worker's, as is the next */
	unsigned left;            /* whose reads devices keep */
	_Atomic(struct content *) *slot; /* who has it; any thread may look */
	/* A read was not parked, as on_error=eio or as there is another copy: the volume may be elsewhere. */
	_Atomic bool path_failed;
	struct content_errand errand;
	struct content list[];
};

static inline struct content *content_at(const struct worker *worker, size_t slot)
{
	return atomic_load_explicit(&worker->contents->slot[slot], memory_order_acquire);
}

/* Once worker->slots is known, before its thread runs. */
must_check int content_open(struct worker *worker, struct error *err);
/* When the thread has ended; also when it was not opened. */
void content_close(struct worker *worker);
/* By its thread: the reader has an engine from here on. */
void content_start(struct worker *worker);
/* By its thread, for good: no READ waits for the device to come back any more. */
void content_drain(struct worker *worker);
/* By its thread: READs that wait at a member which does not answer begin again, at another one. */
void content_leave_stuck(struct worker *worker);
/* Whether devices keep reads of READs that were answered: they write to memory of the worker. By its thread, or when
 * that has ended. */
bool content_is_left(const struct worker *worker);

/* Answers the request, now or from a completion. */
void content_read(struct worker *worker, struct channel_request *request);
