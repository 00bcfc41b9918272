/* SPDX-License-Identifier: MIT */
/* Which CPUs exist, which worker serves the queue of which CPU, and how many requests a queue takes. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

#define CPUS_MAX       8192u /* as many as Linux can be built for */
#define CPUS_DEPTH_MIN 4u    /* entries of a queue */
#define CPUS_DEPTH_MAX 32u

struct cpus {
	unsigned workers;   /* with a CPU of their own */
	uint16_t *own;      /* theirs */
	unsigned possible;  /* CPUs that may ever come online. As many queues, numbered from 0: that of CPU n is n */
	bool *online;       /* when we looked; CPUS_MAX of them */
	unsigned depth;     /* entries of the queue of an online CPU; of the others CPUS_DEPTH_MIN */
};

/* most: workers at most, 0 for one on each CPU of the affinity mask. */
must_check int cpus_find(unsigned most, struct cpus *ret, struct error *err);
void cpus_free(struct cpus *cpus);
/* How many CPUs a list such as "0,2-5" has; 0 when it is none. Sets theirs of CPUS_MAX, unless set is NULL. */
unsigned cpus_parse(const char *list, bool *set);
/* The queues of a worker: its own CPU's, and its share of those whose CPU has no worker. numbers has room for all.
 * Returns how many, at least one. */
unsigned cpus_queues(const struct cpus *cpus, unsigned worker, uint16_t *numbers);
/* Divides so many entries among the queues of CPUs that are online: a virtual machine may have been promised hundreds
 * of CPUs and have eight. */
void cpus_share(struct cpus *cpus, uint64_t entries);
unsigned cpus_depth(const struct cpus *cpus, unsigned queue);
unsigned cpus_depth_least(const struct cpus *cpus);
/* Of all queues. */
uint64_t cpus_entries(const struct cpus *cpus);
