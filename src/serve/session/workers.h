/* SPDX-License-Identifier: MIT */
/* All workers of a mount, from start to end. */
#pragma once
#include "base/wake.h"
#include "serve/serve.h"

/* Zeroed, but ended.fd -1 or open. */
struct workers {
	struct serve *serve; /* NULL: none was made */
	struct wake ended;   /* counts those that ended */
	unsigned running;    /* threads that have not been joined */
	bool is_stuck;       /* one does not end, as a device keeps it */
};

/* As machine.h chose them; the mount exists. */
must_check int workers_create(struct workers *workers, struct serve *serve, struct error *err);
/* On return each has its engine. */
must_check int workers_start(struct workers *workers, struct error *err);
/* Tells of those that were asked for and have nothing to do. */
void workers_report_idle(const struct serve *serve);
/* Others take what a worker on /dev/fuse leaves; nobody a queue of the kernel's: its CPU's readers would hang. An
 * error when that is so. */
must_check int workers_check_queues(const struct workers *workers, struct error *err);
/* Makes them end although the filesystem is mounted. */
void workers_stop(struct workers *workers);
/* When they end; the error of one that failed. Without io_uring one that is in a read for longer than JOIN_LINGER is
 * left there. */
must_check int workers_join(struct workers *workers, struct error *err);
/* When they have ended, or were left: devices still write to memory of theirs, which must stay until the process
 * ends. */
bool workers_are_stuck(const struct workers *workers);
void workers_free(struct workers *workers);
