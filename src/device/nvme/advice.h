/* SPDX-License-Identifier: MIT */
/* Judges whether a namespace suits datasetfs, and what its administrator should know. Does no I/O. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "device/nvme/nvme.h"
#include "device/nvme/topology.h"

#define ADVICE_MAX    16u
#define ADVICE_DEPTH  32u  /* the most reads that a worker keeps in flight */
#define ADVICE_NODES  64u  /* the number of NUMA nodes that the mask nodes can hold */

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
	uint64_t nodes;                   /* bit mask of their NUMA nodes; 0: not known */
};

/* Writes the advice to ret and returns the number of entries. */
size_t advice_give(const struct advice_setup *setup, struct advice ret[ADVICE_MAX]);
