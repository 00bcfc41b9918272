/* SPDX-License-Identifier: MIT */
/* Computes the needs of a cluster that reads a data set: pure formulas, no device, no volume, no output. Rates are per
 * second, sizes in bytes, times in seconds. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#define FORMULAS_LOAD        0.8  /* of a device: beyond it reads queue, with unpredictable tails */
#define FORMULAS_NEIGHBOUR   1.45 /* times the mean load, of the busiest member when another one is lost */
#define FORMULAS_MAP         10   /* bytes of memory for a file in a cache */
#define FORMULAS_FULL        0.99 /* of what a cache will hold: the rest comes late, or never where shards are drawn */

enum formulas_reads {
	FORMULAS_ALL,   /* each worker reads every file in an epoch */
	FORMULAS_SHARD, /* each worker reads a part that is drawn anew for each epoch */
	FORMULAS_FIXED, /* each worker reads the same part in every epoch */
};

/* Reads of the volume that it takes to read every file once, from start to end. */
struct formulas_data {
	double files, reads, bytes;     /* bytes in whole blocks */
	double small_reads, small_bytes; /* those of files that a cache takes */
	double index;                   /* bytes that each worker loads and keeps */
};

struct formulas_inputs {
	double workers, gpus, rate;     /* files a second for each GPU */
	double members;
	bool has_copies;                /* a member may be lost */
	double iops, bandwidth;         /* of a member */
	double port, nic;               /* bandwidth of the way to a member, and to a worker */
	double cache;                   /* of each worker; 0: none */
	double cache_iops, cache_bandwidth, cache_write; /* of the drive that it is on */
	double cpus, cpu_time;          /* CPUs of a worker for reading, and their time for a file */
	double readers;                 /* files that a worker reads at a time */
	double latency;                 /* of a read that waits for no other */
	enum formulas_reads how;
};

/* Parts of the cluster that limit how many files it reads, in the order in which they are shown. */
enum formulas_part {
	FORMULAS_MEMBERS, FORMULAS_PORTS, FORMULAS_NICS, FORMULAS_CPUS, FORMULAS_READERS, FORMULAS_CACHES,
	FORMULAS_PARTS
};

/* One condition of the cluster. */
struct formulas_state {
	double hits;                    /* the part of all reads that the caches answer */
	double limit[FORMULAS_PARTS];   /* files a second; INFINITY: this part limits nothing */
	enum formulas_part first, second; /* the lowest limits */
	double capacity;                /* files a second */
	double use;                     /* the part of their time in which accelerators have data */
	double epoch;                   /* seconds */
	double load;                    /* of a member, 1: all that it can do */
	double busiest;                 /* the same of the busiest member */
};

enum formulas_condition {
	FORMULAS_COLD, FORMULAS_WARM, FORMULAS_COLD_LOST, FORMULAS_WARM_LOST, /* lost: one member */
	FORMULAS_CONDITIONS
};

struct formulas_plan {
	double demand;                  /* files a second */
	double demand_bytes;
	struct formulas_state state[FORMULAS_CONDITIONS];
	bool has_warm, has_lost;        /* false: these states are those without, and mean nothing */
	double members_cold, members_warm; /* that the demand needs at FORMULAS_LOAD */
	double memory_index, memory_map, memory_buffers; /* of a worker */
	double boot;                    /* until all workers that boot together have the index from the volume */
	double fill_bytes;              /* that each new data set writes to the cache of a worker */
	double fill;                    /* until it has FORMULAS_FULL of them */
};

/* Computes the time that a member takes to read what one file needs, when caches answer this part of the reads of
 * small files. */
double formulas_device_time(const struct formulas_data *data, const struct formulas_inputs *inputs, double hits);
void formulas_plan(const struct formulas_data *data, const struct formulas_inputs *inputs, struct formulas_plan *ret);
