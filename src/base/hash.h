/* SPDX-License-Identifier: MIT */
/* A hash table of items that have their link in them. Items whose hashes have the same lower bits form a chain, the
 * newest first; who looks for one walks it and compares. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct hash_link {
	struct hash_link *next;
};

/* A zeroed table is empty and has no chains. */
struct hash_table {
	struct hash_link **chains;
	size_t room; /* number of chains: a power of two, or 0 */
};

typedef uint64_t hash_fn(const struct hash_link *link);

/* Multiplies by 2^64 divided by the golden ratio: numbers near each other get results far apart, the best of whose bits
 * are the upper ones. */
static inline uint64_t hash_spread(uint64_t number)
{
	return number * UINT64_C(0x9e3779b97f4a7c15);
}

/* Makes as many chains as items are expected, so that one has one item on average. hash(): the hash of an item in the
 * table, whose order in its chain stays. On -ENOMEM nothing changes. */
must_check int hash_reserve(struct hash_table *table, size_t items, hash_fn *hash, struct error *err);
void hash_free(struct hash_table *table);

static inline size_t hash_chain(const struct hash_table *table, uint64_t hash)
{
	return hash & (table->room - 1);
}

/* Returns the newest item of the chain. NULL: the chain is empty. */
static inline struct hash_link *hash_first(const struct hash_table *table, uint64_t hash)
{
	return table->room ? table->chains[hash_chain(table, hash)] : NULL;
}

/* Adds an item. There must be room. */
void hash_add(struct hash_table *table, uint64_t hash, struct hash_link *link);
/* Takes out an item that is in the table. */
void hash_remove(struct hash_table *table, uint64_t hash, const struct hash_link *link);
