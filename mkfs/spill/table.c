/* SPDX-License-Identifier: MIT */
/* Probes linearly, at a load of at most three quarters. A full table becomes a run; four runs of a level become one of
 * the next, so a key is copied a few times and a look-up asks a few filters. */
#include "spill/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

#define TABLE_LOG_FIRST 10u
#define TABLE_LOG_MAX   18u /* 6 MiB */
#define TABLE_FANOUT    4u

static struct table_key table_legal(struct table_key key)
{
	if (!key.low && !key.high)
		key.low = 1;
	return key;
}

static bool table_slot_is_free(const struct table_slot *slot)
{
	return !slot->key.low && !slot->key.high;
}

static int table_new(struct table *table, unsigned log, struct error *err)
{
	struct table_slot *slots = calloc((size_t)1 << log, sizeof(*slots));

	if (!slots)
		return error_no_memory(err);
	table->slots = slots;
	table->log = log;
	return 0;
}

int table_open(struct table *table, const struct temp *temp, struct error *err)
{
	*table = (struct table){ .temp = temp };
	return table_new(table, TABLE_LOG_FIRST, err);
}

void table_close(struct table *table)
{
	for (unsigned i = 0; i < table->run_count; i++)
		table_run_close(&table->runs[i]);
	free(table->runs);
	free(table->slots);
	*table = (struct table){ 0 };
}

/* --- in memory --- */

/* Returns the key's slot, or the free slot where it would go. */
static struct table_slot *table_probe(const struct table *table, struct table_key key, uint64_t hash)
{
	uint64_t mask = (UINT64_C(1) << table->log) - 1, i = hash >> (64 - table->log);
	struct table_slot *slot = table->slots + i;

	while (!table_slot_is_free(slot) && (slot->key.low != key.low || slot->key.high != key.high)) {
		i = (i + 1) & mask;
		slot = table->slots + i;
	}
	return slot;
}

static int table_double(struct table *table, struct error *err)
{
	struct table_slot *former = table->slots;
	uint64_t slots = UINT64_C(1) << table->log;
	int r = table_new(table, table->log + 1, err);

	if (r < 0)
		return r;
	for (uint64_t i = 0; i < slots; i++)
		if (!table_slot_is_free(&former[i]))
			*table_probe(table, former[i].key, table_run_hash(former[i].key)) = former[i];
	free(former);
	return 0;
}

/* --- in files --- */

static int table_compare_slots(const void *a, const void *b)
{
	return table_run_compare(((const struct table_slot *)a)->key, ((const struct table_slot *)b)->key);
}

/* Moves the keys in memory to the beginning of the slots, sorted. */
static void table_sort(struct table *table)
{
	uint64_t used = 0;

	for (uint64_t i = 0; used < table->count; i++)
		if (!table_slot_is_free(&table->slots[i]))
			table->slots[used++] = table->slots[i];
	qsort(table->slots, used, sizeof(*table->slots), table_compare_slots);
}

/* Merges the newest runs, count of them, into one. */
static int table_merge(struct table *table, unsigned count, struct error *err)
{
	struct table_run *first = table->runs + table->run_count - count, merged = { 0 };
	int r = table_run_merge(table->temp, first, count, &merged, err);

	if (r < 0)
		return r;
	merged.level = first->level + 1;
	for (unsigned i = 0; i < count; i++)
		table_run_close(&first[i]);
	*first = merged;
	table->run_count -= count - 1;
	return 0;
}

static bool table_is_level_full(const struct table *table)
{
	return table->run_count >= TABLE_FANOUT && table->runs[table->run_count - TABLE_FANOUT].level ==
							   table->runs[table->run_count - 1].level;
}

/* Makes a run of the keys in memory. */
static int table_spill(struct table *table, struct error *err)
{
	struct table_run run = { 0 };
	int r = grow_one(table->runs, table->run_count, err);

	if (r < 0)
		return r;
	table_sort(table);
	r = table_run_make(table->temp, table->slots, table->count, &run, err);
	if (r < 0)
		return r;
	table->runs[table->run_count++] = run;
	memset(table->slots, 0, sizeof(*table->slots) << table->log);
	table->count = 0;
	while (r == 0 && table_is_level_full(table))
		r = table_merge(table, TABLE_FANOUT, err);
	return r;
}

int table_settle(struct table *table, struct error *err)
{
	int r = table->run_count && table->count ? table_spill(table, err) : 0;

	return r < 0 || table->run_count < 2 ? r : table_merge(table, table->run_count, err);
}

/* --- keys --- */

void table_prefetch(const struct table *table, struct table_key key)
{
	uint64_t hash = table_run_hash(table_legal(key));

	__builtin_prefetch(table->slots + (hash >> (64 - table->log)));
	for (unsigned i = 0; i < table->run_count; i++)
		table_run_prefetch(&table->runs[i], hash);
}

bool table_find(const struct table *table, struct table_key key, uint64_t *ret)
{
	struct table_key legal = table_legal(key);
	uint64_t hash = table_run_hash(legal);
	const struct table_slot *slot = table_probe(table, legal, hash);
	bool found = !table_slot_is_free(slot);

	if (found)
		*ret = slot->value;
	for (unsigned i = table->run_count; !found && i-- > 0;)
		found = table_run_find(&table->runs[i], legal, hash, ret);
	return found;
}

int table_set(struct table *table, struct table_key key, uint64_t value, struct error *err)
{
	struct table_key legal = table_legal(key);
	struct table_slot *slot;
	int r = 0;

	if ((table->count + 1) * 4 > (UINT64_C(3) << table->log))
		r = table->log < TABLE_LOG_MAX ? table_double(table, err) : table_spill(table, err);
	if (r < 0)
		return r;
	slot = table_probe(table, legal, table_run_hash(legal));
	table->count += table_slot_is_free(slot);
	*slot = (struct table_slot){ .key = legal, .value = value };
	return 0;
}

/* Counts runs twice: while they are merged, their keys are in the new run as well. */
uint64_t table_size(uint64_t count)
{
	return count > UINT64_MAX / 2 / sizeof(struct table_slot) ? UINT64_MAX : 2 * sizeof(struct table_slot) * count;
}
