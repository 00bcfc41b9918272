/* SPDX-License-Identifier: MIT */
/* Judges a namespace: whether it suits datasetfs, and what an administrator should know. No I/O. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "device/nvme.h"
#include "device/topology.h"

#define ADVICE_MAX    16u
#define ADVICE_DEPTH  32u  /* reads that a worker keeps in flight at most */
#define ADVICE_NODES  64u  /* NUMA nodes that can be told apart */

struct advice {
	bool is_warning;
	const char *kind; /* one word, for programs */
	char text[256];
};

struct advice_setup {
	const struct topology *topology;
	const struct topology_namespace *namespace;
	const struct nvme_facts *facts;   /* NULL: not known */
	const struct nvme_holder *holder; /* NULL: not known */
	unsigned cpus;                    /* that this process may run on */
	uint64_t nodes;                   /* their NUMA nodes, a bit for each; 0: not known */
};

/* How many were written. */
size_t advice_give(const struct advice_setup *setup, struct advice ret[ADVICE_MAX]);
