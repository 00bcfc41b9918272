/* SPDX-License-Identifier: MIT */
/* The CPUs on which a worker that serves one CPU's queue runs. While requests and completions come several at a
 * time, it stays on that CPU, where readers wake it without an interrupt to another CPU. When they come one by one, it
 * may run where the completion of the device arrives, so that the waiting reader gets its answer sooner. */
#pragma once
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

struct placement {
	cpu_set_t *own, *all; /* the CPU of the queue; those of the process; NULL: the worker stays where it is put */
	size_t size;          /* of a set, in bytes */
	unsigned mean;        /* completions of a wait, in 256ths */
	bool pinned;
};

/* By the thread itself. cpu -1: any CPU will do, for ever. */
must_check int placement_start(struct placement *placement, int cpu, struct error *err);
/* Before each wait of the thread: what the one before brought. */
void placement_update(struct placement *placement, unsigned completions);
void placement_end(struct placement *placement);
