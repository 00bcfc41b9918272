/* SPDX-License-Identifier: MIT */
/* A hash table from 128-bit keys to numbers. The newest keys are in memory, all others in temporary files, which are
 * written and merged from end to end: adding a key touches no page at a place of its own. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "spill/table_run.h"

struct table {
	const struct temp *temp;
	struct table_slot *slots; /* the newest keys */
	unsigned log;             /* log2 of the number of slots */
	uint64_t count;           /* of keys in slots */
	struct table_run *runs;   /* the newest last */
	unsigned run_count;
};

must_check int table_open(struct table *table, const struct temp *temp, struct error *err);
void table_close(struct table *table); /* a zeroed one as well */
/* Prefetches what table_find() looks at first. */
void table_prefetch(const struct table *table, struct table_key key);
/* Any number of threads at a time while none adds. */
bool table_find(const struct table *table, struct table_key key, uint64_t *ret);
/* Adds the key, or gives it another value. */
must_check int table_set(struct table *table, struct table_key key, uint64_t value, struct error *err);
/* Makes looking up as cheap as it gets: for a table that is complete. */
must_check int table_settle(struct table *table, struct error *err);
/* Upper bound for the temporary files of a table with that many keys. */
uint64_t table_size(uint64_t count);
