/* SPDX-License-Identifier: MIT */
/* A worker: one thread with its channel, its engine and its loop. It does not know what requests mean; the hooks do. */
#pragma once
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/wake.h"
#include "fuse/channel.h"
#include "io/array.h"
#include "io/engine.h"
#include "serve/version/generations.h"
#include "serve/worker/counters.h"
#include "serve/worker/placement.h"

struct contents;
struct serve;
struct worker;

/* Something that another thread wants done on a worker's. */
struct worker_task {
	void (*run)(struct worker_task *task);
	struct worker_task *next; /* the worker's */
};

/* Called on the worker's thread. */
struct worker_hooks {
	const struct channel_handlers *handlers; /* their context is the worker */
	void (*start)(struct worker *worker);    /* it has its engine, requests come next */
	void (*drain)(struct worker *worker);    /* it ends with its last request, which waits for nothing new */
	bool (*is_left)(const struct worker *worker); /* devices still write to memory of requests that were answered */
};

struct worker_setup {
	struct serve *serve;
	const struct worker_hooks *hooks;
	unsigned number;
	int session_fd;
	const struct array_source *volume;   /* its descriptors are read when its thread starts */
	bool uring;                          /* else preadv */
	int cpu;                             /* -1: any */
	const struct channel_queues *queues; /* of the ring channel; NULL: /dev/fuse, */
	size_t slots;                        /* with so many; only looked at by worker_new(), as are the queues */
	sem_t *started;                      /* posted when the thread has its engine or failed to get it */
	const struct wake *ended;            /* counts workers that ended */
};

struct worker {
	struct counters counters;
	struct generations_section section;
	struct serve *serve;       /* the hooks', */
	struct contents *contents; /* as are its READs: request/content.h */
	_Atomic uint64_t *reading; /* as is this: by slot, the node whose READ is in work, or 0; any thread looks */
	unsigned number; /* 0 .. worker_count - 1 */
	pthread_t thread;
	struct placement placement;
	size_t slots;            /* of its channel */
	struct channel *channel;
	struct engine *engine; /* the thread's own, from its start to its end */
	struct wake wake;           /* there are tasks */
	pthread_mutex_t task_lock;
	struct worker_task *tasks;  /* under task_lock */
	/* The thread's: requests in work that wait for another thread, see serve->jobs; reads: READs of what is being
	 * read ahead. */
	unsigned commands, visits, reads;
	struct worker_setup setup;
	bool is_stuck;           /* the thread's: it ended while is_left() */
	bool has_engine;         /* set before the thread posts that it started */
	atomic_bool stopping;    /* it is to end although the filesystem is mounted */
	atomic_bool failed;      /* it ended although the filesystem is mounted and nobody stopped it, see failure */
	struct error failure;    /* the thread's: why it ended, code 0 after an unmount */
};

/* Everything but the thread, so that all workers exist before the first one runs. */
must_check int worker_new(const struct worker_setup *setup, struct worker **ret, struct error *err);
must_check int worker_start(struct worker *worker, struct error *err);
/* Any thread. For a mount that cannot go on: the worker ends, and requests that it leaves fail when its descriptor and
 * that of the mount are closed. */
void worker_stop(struct worker *worker);
void worker_free(struct worker *worker);
/* Any thread. The task belongs to the worker until it runs, which it does also while the worker ends. */
void worker_post(struct worker *worker, struct worker_task *task);
static inline unsigned worker_jobs(const struct worker *worker)
{
	return worker->commands + worker->visits + worker->reads;
}
/* The generation's index as this worker reads it. */
struct names_reader *worker_reader(const struct worker *worker, const struct generation *generation);
/* Whether io_uring works here, with commands or without; err tells why not. */
must_check int worker_probe_ring(const struct array_source *volume, bool commands, struct error *err);
