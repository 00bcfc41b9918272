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
	unsigned log; /* log2 of the slots there are */
	uint64_t count;
};

must_check int table_open(struct table *table, const struct temp *temp, struct error *err);
void table_close(struct table *table); /* a zeroed one as well */
/* Room for that many keys at once, so that it need not grow while they come. */
must_check int table_reserve(struct table *table, uint64_t count, struct error *err);
/* Has the memory of the key's slot fetched while the caller does something else. */
void table_prefetch(const struct table *table, struct table_key key);
bool table_find(const struct table *table, struct table_key key, uint64_t *ret);
/* The key must not be in the table. */
must_check int table_add(struct table *table, struct table_key key, uint64_t value, struct error *err);
/* Bytes of temporary file that a table of that many keys takes. */
uint64_t table_size(uint64_t count);
