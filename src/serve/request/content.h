/* SPDX-License-Identifier: MIT */
/* READ: a request answered by a read of an opened version. */
#pragma once
#include "fuse/channel.h"
#include "read/read.h"
#include "serve/worker/worker.h"

/* Of a worker, one for each slot of its channel. */
struct content {
	struct read_op op; /* the first member */
	struct worker *worker;
	struct channel_request *request;
	struct generation *generation;
};

/* Answers the request, now or from a completion. */
void content_read(struct worker *worker, struct channel_request *request);

extern const struct reader_events content_events;
