/* SPDX-License-Identifier: MIT */
/* All workers of a mount, from their start to their end. */
#pragma once
#include <semaphore.h>

#include "base/thread/wake.h"
#include "serve/serve.h"

/* The caller of workers_create() zeroes the struct, and opens `ended` or sets ended.fd to -1. */
struct workers {
	struct serve *serve; /* NULL: workers_create() was not called */
	sem_t started;       /* each worker posts it when it has started */
	sem_t received;      /* each worker posts it when it has read requests for the first time */
	struct wake ended;   /* counts the workers that ended */
	unsigned running;    /* threads that were started and not joined */
	bool is_stuck;       /* a thread does not end, as it is stuck in a device */
};

/* Makes the workers without their threads, in the number that machine.h chose. The mount must exist. */
must_check int workers_create(struct workers *workers, struct serve *serve, struct error *err);
/* Starts all threads, and waits until each has its engine. */
must_check int workers_start(struct workers *workers, struct error *err);
/* Waits until a worker has read requests, or all of them had the time to. */
void workers_await_requests(struct workers *workers);
/* Makes all workers look for requests. The kernel wakes one for all that it sends again, and that one may read a device
 * first. */
void workers_look(struct workers *workers);
/* Ends the process as one that crashed if a worker has been in one handler for WORKERS_PULSE seconds. Does nothing if
 * workers read in handlers (serve_machine.blocks). Call it often. */
#define WORKERS_PULSE 30
void workers_check_pulse(struct workers *workers);
/* Logs why fewer workers serve than the option workers= asked for. */
void workers_report_idle(const struct serve *serve);
/* Fails if a worker that serves kernel queues has failed: no other takes them over, so readers on its CPUs would hang.
 * A failed worker on /dev/fuse leaves its requests to the others. */
must_check int workers_check_queues(const struct workers *workers, struct error *err);
/* Makes all workers end although the filesystem is mounted. */
void workers_stop(struct workers *workers);
/* Makes all workers finish their open requests and end. */
void workers_leave(struct workers *workers);
/* Waits for all workers to end. Returns the error of one that failed. A worker whose reads a device keeps for longer
 * than THREAD_LINGER seconds is left running. */
must_check int workers_join(struct workers *workers, struct error *err);
/* Whether devices may still write to memory of workers that have ended or were left running. That memory must then stay
 * until the process ends. */
bool workers_are_stuck(const struct workers *workers);
/* Frees the workers. All their threads must have ended. */
void workers_free(struct workers *workers);
