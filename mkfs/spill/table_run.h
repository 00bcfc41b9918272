/* SPDX-License-Identifier: MIT */
/* Makes runs: keys and values that do not change any more, sorted by hash in a temporary file. A filter in memory
 * recognizes nearly all keys that are not there; only for a key that is there a page of the file is read. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "spill/temp.h"

#define TABLE_RUN_MERGE 64u /* most runs that are merged at once */

struct table_key {
	uint64_t low, high;
};

struct table_slot {
	struct table_key key;
	uint64_t value;
};

struct table_run {
	int fd;
	const struct table_slot *slots; /* the file, mapped */
	uint64_t count;
	unsigned level;      /* how many merges it has been through */
	uint64_t *filter;    /* a Bloom filter in blocks of a cache line */
	uint64_t blocks;     /* of the filter */
	uint64_t *fences;    /* the first slot of each of 2^fence_log ranges of hashes, and the end */
	unsigned fence_log;
};

uint64_t table_run_hash(struct table_key key);
/* Compares keys by their order in a run: -1, 0 or 1. */
int table_run_compare(struct table_key a, struct table_key b);

void table_run_close(struct table_run *run); /* a zeroed one may be closed, too */
/* Makes a run of slots, which are in order and have each key once. */
must_check int table_run_make(const struct temp *temp, const struct table_slot *slots, uint64_t count,
			      struct table_run *ret, struct error *err);
/* Merges runs, the newest last, into one; a key that several have gets the value of the newest. */
must_check int table_run_merge(const struct temp *temp, const struct table_run *runs, unsigned count,
			       struct table_run *ret, struct error *err);
/* Prefetches the part of the filter that table_run_find() looks at. */
void table_run_prefetch(const struct table_run *run, uint64_t hash);
bool table_run_find(const struct table_run *run, struct table_key key, uint64_t hash, uint64_t *ret);
