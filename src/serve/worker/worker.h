/* SPDX-License-Identifier: MIT */
/* A worker: one thread with its channel, its engine, its buffers and its loop. */
#pragma once
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/wake.h"
#include "fuse/channel.h"
#include "io/engine.h"
#include "read/reader.h"
#include "serve/serve.h"
#include "serve/worker/counters.h"
#include "serve/worker/placement.h"

struct content;

/* Something that another thread wants done on a worker's. */
struct worker_task {
	void (*run)(struct worker_task *task);
	struct worker_task *next; /* the worker's */
};

/* The watch's errand, see watch.c. */
struct worker_visit {
	struct worker_task task;
	struct worker *worker;
	_Atomic bool posted;
	_Atomic bool renew; /* the volume's descriptor leads elsewhere */
};

struct worker {
	struct counters counters;
	struct generations_section section;
	struct serve *serve;
	unsigned number; /* 0 .. worker_count - 1 */
	pthread_t thread;
	int cpu;                 /* whose queue it serves; -1: none in particular */
	struct placement placement;
	size_t slots;            /* of its channel */
	struct channel *channel;
	struct engine *engine; /* the thread's own, from its start to its end */
	struct reader reader;
	struct content *contents; /* one per slot */
	uint8_t *scratch;        /* slots * READ_SCRATCH */
	struct wake wake;           /* there are tasks */
	pthread_mutex_t task_lock;
	struct worker_task *tasks;  /* under task_lock */
	unsigned commands, visits;  /* the thread's: requests in work that wait for another thread, see serve->jobs */
	atomic_bool path_failed;    /* a read was not parked, as on_error=eio: the volume may be elsewhere all the same */
	struct worker_visit visit;
	int session_fd;
	const struct wake *ended; /* counts workers that ended */
	bool has_engine;         /* set before the thread posts that it started */
	atomic_bool stopping;    /* it is to end although the filesystem is mounted */
	atomic_bool failed;      /* it ended although the filesystem is mounted and nobody stopped it; failure says why */
	struct error failure;    /* the thread's: why it ended, code 0 after an unmount */
};

struct worker_setup {
	struct serve *serve;
	unsigned number;
	int session_fd;
	const struct wake *ended;
	int cpu;                             /* -1: any */
	const struct channel_queues *queues; /* of the ring channel; NULL: /dev/fuse */
};

/* Everything but the thread, so that all workers exist before the first one runs. */
must_check int worker_new(const struct worker_setup *setup, struct worker **ret, struct error *err);
/* The thread posts serve->started_workers when it has its engine or failed to get it. */
must_check int worker_start(struct worker *worker, struct error *err);
/* Any thread. For a mount that cannot go on: the worker ends, and requests that it leaves fail when its descriptor and
 * that of the mount are closed. */
void worker_stop(struct worker *worker);
void worker_free(struct worker *worker);
/* Any thread. The task belongs to the worker until it runs, which it does also while the worker ends. */
void worker_post(struct worker *worker, struct worker_task *task);
/* The generation's index as this worker reads it. */
struct names_reader *worker_reader(const struct worker *worker, const struct generation *generation);
/* Whether io_uring works here, with commands or without; err tells why not. */
must_check int worker_probe_ring(const struct serve *serve, bool commands, struct error *err);
