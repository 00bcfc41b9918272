/* SPDX-License-Identifier: MIT */
/* Maps 128-bit keys to numbers in a hash table. The newest keys are in memory, all others in temporary files, which are
 * written and merged from end to end, so adding keys causes no random access. */
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
void table_close(struct table *table); /* a zeroed one may be closed, too */
/* Prefetches the memory that table_find() looks at first. */
void table_prefetch(const struct table *table, struct table_key key);
/* Finds the key's value; false if the key is not there. Threads may call it in parallel while none adds keys. */
bool table_find(const struct table *table, struct table_key key, uint64_t *ret);
/* Adds the key, or gives it another value. */
must_check int table_set(struct table *table, struct table_key key, uint64_t value, struct error *err);
/* Makes look-ups as cheap as possible, once the table is complete. */
must_check int table_settle(struct table *table, struct error *err);
/* Returns an upper bound, in bytes, for the temporary files of a table with this many keys. */
uint64_t table_size(uint64_t count);
