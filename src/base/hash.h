/* SPDX-License-Identifier: MIT */
/* An intrusive hash table: each item holds its own link. Items whose hashes have the same lower bits form a chain, the
 * newest first; a look-up walks the chain and compares. */
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

/* Multiplies by 2^64 divided by the golden ratio: numbers near each other get results far apart. The upper bits are the
 * best mixed. */
static inline uint64_t hash_spread(uint64_t number)
{
	return number * UINT64_C(0x9e3779b97f4a7c15);
}

/* Makes at least one chain for each expected item, so that a chain has one item on average. hash() returns the hash of
 * an item; items keep their order within a chain. On -ENOMEM nothing changes. */
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
/* Removes an item, which must be in the table. */
void hash_remove(struct hash_table *table, uint64_t hash, const struct hash_link *link);
