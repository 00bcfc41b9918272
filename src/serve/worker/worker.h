/* SPDX-License-Identifier: MIT */
/* A worker: one thread with its channel, its engine and its loop. */
#pragma once
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/thread/thread.h"
#include "base/thread/wake.h"
#include "fuse/channel.h"
#include "io/array.h"
#include "io/engine.h"
#include "serve/version/generations.h"
#include "serve/worker/counters.h"
#include "serve/worker/placement.h"

struct contents;
struct queue;
struct serve;
struct worker;

/* A piece of work that another thread posts to a worker's thread. */
struct worker_task {
	void (*run)(struct worker_task *task);
	struct worker_task *next; /* worker only */
};

struct worker_setup {
	struct serve *serve;
	channel_handler *handle;             /* its context is the worker */
	void (*start)(unsigned number);      /* called on the worker's thread before the first request */
	unsigned number;
	int session_fd;
	int clone;                           /* of it, for /dev/fuse, see struct channel_setup; only for worker_new() */
	const struct array_source *volume;   /* the thread takes its descriptors when it starts */
	bool uring;                          /* reads with io_uring; false: with preadv(2) */
	bool blocks;                         /* in its own thread */
	bool adopts;                         /* another server was before this one */
	int cpu;                             /* CPU of its queue; -1: any */
	const struct channel_queues *queues; /* queues of the ring channel; NULL: /dev/fuse; only for worker_new() */
	size_t slots;                        /* slots of /dev/fuse; only for worker_new() */
	sem_t *started;                      /* posted when the thread has its engine or failed to get it */
	sem_t *received;                     /* posted when the thread has read from /dev/fuse for the first time */
	const struct wake *ended;            /* woken by each worker that ends */
};

/* Tasks that were posted and have not run. */
struct worker_tasks {
	pthread_mutex_t lock;
	struct worker_task *first;
};

/* Requests that wait for another thread, limited by serve->machine.jobs. Worker's thread only. */
struct worker_waiting {
	unsigned commands, visits;
	unsigned reads; /* READs of files that are being read ahead */
};

/* When a worker was seen at work on a request. */
struct worker_pulse {
	uint64_t unique;
	int64_t since; /* ns, monotonic */
};

struct worker {
	struct counters counters;
	struct generations_section section;
	struct serve *serve;       /* handlers only */
	struct queue *queue;       /* of the worker's READs; set before the thread starts, which gives it its engine */
	struct contents *contents; /* handlers only: the READs, see request/content.h */
	_Atomic uint64_t *reading; /* handlers only: by slot, node of the READ in progress, or 0; any thread loads it */
	unsigned number; /* 0 .. worker_count - 1 */
	struct thread thread;
	struct placement placement;
	size_t slots;            /* slots of the channel */
	struct channel *channel;
	struct engine *engine; /* exists from the thread's start to its end, for this thread only */
	struct wake wake;           /* wakes the thread when there are tasks, or to stop */
	struct worker_tasks tasks;
	struct worker_waiting waiting;
	struct worker_setup setup;
	struct worker_pulse pulse; /* as the session's thread saw it last */
	bool is_stuck;           /* thread only: it ended while devices kept reads of its queue */
	bool has_engine;         /* set before the thread posts `started` */
	atomic_bool stopping;    /* the thread must end although the filesystem is mounted */
	atomic_bool leaving;     /* the thread must end once its requests are answered, and take no more */
	atomic_bool looks;       /* the thread is to look for requests, whatever its poll says */
	atomic_bool failed;      /* the thread failed while the filesystem was mounted, see failure */
	struct error failure;    /* thread only: why it ended, code 0 after an unmount */
};

/* Makes a worker without its thread, so that all workers exist before the first one runs. */
must_check int worker_new(const struct worker_setup *setup, struct worker **ret, struct error *err);
/* Starts the thread, which posts setup->started. */
must_check int worker_start(struct worker *worker, struct error *err);
/* Makes the worker end although the filesystem is mounted, as the mount cannot go on. Requests that it leaves fail when
 * its descriptor and that of the mount are closed. Any thread may call this. */
void worker_stop(struct worker *worker);
/* Makes the worker end when it has answered its open requests; the kernel keeps the rest for another process. Not for
 * channels whose own_thread is set. Any thread may call this. */
void worker_leave(struct worker *worker);
/* Makes the worker look for requests that the kernel has announced to no thread, or to a dead one. Any thread may call
 * this. */
void worker_look(struct worker *worker);
/* Frees a worker whose thread has ended or was never started. NULL is allowed. */
void worker_free(struct worker *worker);
/* Has the worker run a task on its thread, even while it is ending. The task belongs to the worker until it runs. Any
 * thread may call this. */
void worker_post(struct worker *worker, struct worker_task *task);
/* The number of the worker's requests that wait for another thread. Worker's thread only. */
static inline unsigned worker_jobs(const struct worker *worker)
{
	return worker->waiting.commands + worker->waiting.visits + worker->waiting.reads;
}
/* Checks that an io_uring can be set up on the volume. commands: one that also carries FUSE requests. On failure err
 * says why io_uring does not work. */
must_check int worker_probe_ring(const struct array_source *volume, bool commands, struct error *err);
