/* SPDX-License-Identifier: MIT */
/* Answers READ with a read of an opened version. */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "fuse/channel.h"
#include "read/read.h"
#include "serve/ahead/kept.h"
#include "serve/worker/worker.h"

/* One for each slot of a worker's channel. */
struct content {
	struct read_op op; /* the first member */
	struct worker *worker;
	struct channel_request *request;
	struct generation *generation; /* with a use */
	bool was_announced; /* by a user, what was read ahead for this READ; else a walker came to it */
	struct kept_waiter waiter;     /* for what is being read ahead, */
	struct worker_task task;       /* and to go on when that is there */
};

/* What the watchdog wants done on the worker's thread, see waiting.c. */
struct content_errand {
	struct worker_task task;
	struct worker *worker;
	_Atomic bool posted;
	_Atomic bool renew; /* the volume's descriptor leads elsewhere */
};

/* All of a worker, worker->contents. */
struct contents {
	struct reader reader;
	size_t slots;
	uint8_t *scratch;         /* slots * READ_SCRATCH */
	/* A read was not parked, as on_error=eio or as there is another copy: the volume may be elsewhere. */
	_Atomic bool path_failed;
	struct content_errand errand;
	struct content slot[];
};

/* Once worker->slots is known, before its thread runs. */
must_check int content_open(struct worker *worker, struct error *err);
/* When the thread has ended; also when it was not opened. */
void content_close(struct worker *worker);
/* By its thread: the reader has an engine from here on. */
void content_start(struct worker *worker);
/* By its thread, for good: no READ waits for the device to come back any more. */
void content_drain(struct worker *worker);

/* Answers the request, now or from a completion. */
void content_read(struct worker *worker, struct channel_request *request);
