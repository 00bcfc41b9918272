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
	unsigned possible;  /* CPUs that may ever come online. As many queues, numbered from 0: that of CPU n is n */
};

/* most: workers at most, 0 for one on each CPU of the affinity mask. */
must_check int cpus_find(unsigned most, struct cpus *ret, struct error *err);
void cpus_free(struct cpus *cpus);
/* How many CPUs a list such as "0,2-5" has; 0 when it is none. */
unsigned cpus_count(const char *list);
/* The queues of a worker: its own CPU's, and its share of those whose CPU has no worker. numbers has room for all.
 * Returns how many, at least one. */
unsigned cpus_queues(const struct cpus *cpus, unsigned worker, uint16_t *numbers);
