/* SPDX-License-Identifier: MIT */
/* Doubles the number of chains in place: the items of a chain are split between it and the new chain that is room
 * places behind it. */
#include "base/hash.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

#define HASH_FIRST 64u /* chains */

static void hash_split(struct hash_table *table, size_t chain, hash_fn *hash)
{
	struct hash_link **low = &table->chains[chain], **high = &table->chains[chain + table->room];

	for (struct hash_link *link = *low; link; link = link->next) {
		struct hash_link ***end = hash(link) & table->room ? &high : &low;

		**end = link;
		*end = &link->next;
	}
	*low = *high = NULL;
}

static int hash_double(struct hash_table *table, hash_fn *hash, struct error *err)
{
	int r = grow_to(&table->chains, 2 * table->room, sizeof(struct hash_link *), err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < table->room; i++)
		hash_split(table, i, hash);
	table->room *= 2;
	return 0;
}

static int hash_begin(struct hash_table *table, struct error *err)
{
	table->chains = calloc(HASH_FIRST, sizeof(struct hash_link *));
	if (!table->chains)
		return error_no_memory(err);
	table->room = HASH_FIRST;
	return 0;
}

int hash_reserve(struct hash_table *table, size_t items, hash_fn *hash, struct error *err)
{
	int r = table->room ? 0 : hash_begin(table, err);

	while (r == 0 && table->room < items)
		r = hash_double(table, hash, err);
	return r;
}

void hash_free(struct hash_table *table)
{
	free(table->chains);
	*table = (struct hash_table){ 0 };
}

void hash_add(struct hash_table *table, uint64_t hash, struct hash_link *link)
{
	struct hash_link **first = &table->chains[hash_chain(table, hash)];

	link->next = *first;
	*first = link;
}

void hash_remove(struct hash_table *table, uint64_t hash, const struct hash_link *link)
{
	struct hash_link **at = &table->chains[hash_chain(table, hash)];

	while (*at != link)
		at = &(*at)->next;
	*at = link->next;
}
