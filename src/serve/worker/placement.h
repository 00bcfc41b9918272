/* SPDX-License-Identifier: MIT */
/* Chooses the CPUs on which a worker that serves one CPU's queue runs. While requests and completions come several at a
 * time, it stays on that CPU, where readers wake it without an interrupt to another CPU. When they come one by one, it
 * may run where the completion of the device arrives, so that the waiting reader gets its answer sooner. */
#pragma once
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

struct placement {
	cpu_set_t *own, *all; /* the queue's CPU; the process's CPUs; NULL: the thread is never moved */
	size_t size;          /* bytes of a set */
	unsigned mean;        /* moving average of completions per wait, in 256ths */
	bool pinned;
};

/* Begins to place the calling thread, a worker's. cpu: the CPU of its queue; -1: the thread is never pinned. */
must_check int placement_start(struct placement *placement, int cpu, struct error *err);
/* Pins or unpins the thread. Call it before each wait, with the number of completions that the previous wait
 * brought. */
void placement_update(struct placement *placement, unsigned completions);
void placement_end(struct placement *placement);
