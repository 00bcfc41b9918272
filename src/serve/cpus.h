/* SPDX-License-Identifier: MIT */
/* Which CPUs there are, and which worker serves the queue of which. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

#define CPUS_MAX 8192u /* as many as Linux can be built for */

struct cpus {
	unsigned workers;   /* with a CPU of their own */
	uint16_t *own;      /* theirs */
	unsigned possible;  /* queues: CPUs that may ever come online */
};

/* most: workers at most, 0 for one on each CPU of the affinity mask. */
must_check int cpus_find(unsigned most, struct cpus *ret, struct error *err);
void cpus_free(struct cpus *cpus);
/* The queues of a worker: its own CPU's, and its share of those whose CPU has no worker. numbers has room for all.
 * Returns how many. */
unsigned cpus_queues(const struct cpus *cpus, unsigned worker, uint16_t *numbers);
