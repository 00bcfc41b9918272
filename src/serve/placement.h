/* SPDX-License-Identifier: MIT */
/* On which CPUs a worker runs that serves the queue of one. With several requests under way it stays on that CPU, where
 * readers wake it without an interrupt from one CPU to another. With one now and then it may run where the device's
 * completion arrives: the reader that waits for it has its answer sooner. */
#pragma once
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

struct placement {
	cpu_set_t *own, *all; /* the CPU of the queue; those of the process; NULL: the worker stays where it is put */
	size_t size;          /* of a set, in bytes */
	unsigned load;        /* mean of the requests under way, times PLACEMENT_WEIGHT */
	bool pinned;
};

/* By the thread itself. cpu -1: any CPU will do, for ever. */
must_check int placement_start(struct placement *placement, int cpu, struct error *err);
/* Before each wait of the thread: how many requests are under way. */
void placement_update(struct placement *placement, size_t busy);
void placement_end(struct placement *placement);
