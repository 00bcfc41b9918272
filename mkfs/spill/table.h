/* SPDX-License-Identifier: MIT */
/* A hash table from 128-bit keys to numbers in a mapped temporary file. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "spill/mapped.h"

struct table_key {
	uint64_t low, high;
};

struct table {
	struct mapped slots;
	unsigned log; /* log2 of the number of slots */
	uint64_t count;
};

must_check int table_open(struct table *table, const struct temp *temp, struct error *err);
void table_close(struct table *table); /* a zeroed one as well */
/* Makes room for that many keys at once, so that the table need not grow later. */
must_check int table_reserve(struct table *table, uint64_t count, struct error *err);
/* Prefetches the key's slot. */
void table_prefetch(const struct table *table, struct table_key key);
bool table_find(const struct table *table, struct table_key key, uint64_t *ret);
/* The key must not be in the table. */
must_check int table_add(struct table *table, struct table_key key, uint64_t value, struct error *err);
/* Adds the key, or gives it another value. */
must_check int table_set(struct table *table, struct table_key key, uint64_t value, struct error *err);
/* Size of the temporary file of a table with that many keys. */
uint64_t table_size(uint64_t count);
