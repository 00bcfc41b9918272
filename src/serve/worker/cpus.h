/* SPDX-License-Identifier: MIT */
/* Finds the CPUs, and decides which worker serves which CPU's queue and how many requests a queue takes. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

#define CPUS_MAX       8192u /* the most CPUs that Linux can be built for */
#define CPUS_DEPTH_MIN 4u    /* least number of entries of a queue */
#define CPUS_DEPTH_MAX 32u

struct cpus {
	unsigned workers;   /* workers that have a CPU of their own */
	uint16_t *own;      /* CPU of each of these workers */
	unsigned possible;  /* CPUs that may ever come online; there are as many queues, and CPU n uses queue n */
	bool *online;       /* CPUs online at the start; CPUS_MAX elements */
	unsigned depth;     /* entries of the queue of an online CPU; other queues have CPUS_DEPTH_MIN */
};

/* Chooses a CPU for each of up to `most` workers; 0: one for each CPU of the affinity mask. Also reads which CPUs exist
 * and are online. */
must_check int cpus_find(unsigned most, struct cpus *ret, struct error *err);
void cpus_free(struct cpus *cpus);
/* Counts the CPUs in a list such as "0,2-5"; 0: the text is no such list. Sets their elements of `set`, which has
 * CPUS_MAX elements or is NULL. */
unsigned cpus_parse(const char *list, bool *set);
/* Lists the queues that a worker serves: its own CPU's, and its share of the queues whose CPU has no worker. `numbers`
 * has room for all queues. Returns how many there are, at least one. */
unsigned cpus_queues(const struct cpus *cpus, unsigned worker, uint16_t *numbers);
/* Sets the depth: divides `entries` among the queues of online CPUs only, as a virtual machine may have hundreds of
 * possible CPUs and eight online. */
void cpus_share(struct cpus *cpus, uint64_t entries);
/* The number of entries of a queue. */
unsigned cpus_depth(const struct cpus *cpus, unsigned queue);
/* The number of entries of the smallest queue. */
unsigned cpus_depth_least(const struct cpus *cpus);
/* The number of entries of all queues together. */
uint64_t cpus_entries(const struct cpus *cpus);
