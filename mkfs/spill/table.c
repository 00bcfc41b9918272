/* SPDX-License-Identifier: MIT */
/* Linear probing at a load of at most three quarters. The top bits of the hash choose the slot, so growing reads the
 * old table and writes the new one sequentially, which is cheap when memory is short. */
#include "spill/table.h"

#include <errno.h>
#include <inttypes.h>

#include "datasetfs/format.h"

#define TABLE_LOG_FIRST 10u
#define TABLE_LOG_MAX   (DSFS_ORDINAL_BITS + 1) /* enough for every inode that a version can have */

struct table_slot {
	struct table_key key; /* both halves zero: free */
	uint64_t value;
};

static struct table_slot *table_slots(const struct table *table)
{
	return (struct table_slot *)(void *)table->slots.bytes;
}

static struct table_key table_legal(struct table_key key)
{
	if (!key.low && !key.high)
		key.low = 1;
	return key;
}

static uint64_t table_home(const struct table *table, struct table_key key)
{
	uint64_t hash = (key.low ^ (key.high << 32 | key.high >> 32)) * UINT64_C(0x9e3779b97f4a7c15);

	return hash >> (64 - table->log);
}

static bool table_slot_is_free(const struct table_slot *slot)
{
	return !slot->key.low && !slot->key.high;
}

/* The key's slot, or the free slot where it would go. */
static struct table_slot *table_probe(const struct table *table, struct table_key key)
{
	uint64_t mask = (UINT64_C(1) << table->log) - 1;
	uint64_t i = table_home(table, key);
	struct table_slot *slot = table_slots(table) + i;

	while (!table_slot_is_free(slot) && (slot->key.low != key.low || slot->key.high != key.high)) {
		i = (i + 1) & mask;
		slot = table_slots(table) + i;
	}
	return slot;
}

static int table_new(struct table *table, const struct temp *temp, unsigned log, struct error *err)
{
	int r;

	*table = (struct table){ .log = log };
	r = mapped_open(&table->slots, temp, err);
	if (r < 0)
		return r;
	r = mapped_grow(&table->slots, sizeof(struct table_slot) << log, err);
	if (r < 0)
		table_close(table);
	return r;
}

int table_open(struct table *table, const struct temp *temp, struct error *err)
{
	return table_new(table, temp, TABLE_LOG_FIRST, err);
}

void table_close(struct table *table)
{
	mapped_close(&table->slots);
}

bool table_find(const struct table *table, struct table_key key, uint64_t *ret)
{
	const struct table_slot *slot = table_probe(table, table_legal(key));

	if (table_slot_is_free(slot))
		return false;
	*ret = slot->value;
	return true;
}

static int table_resize(struct table *table, unsigned log, struct error *err)
{
	uint64_t slots = UINT64_C(1) << table->log;
	struct table larger;
	int r;

	r = table_new(&larger, table->slots.temp, log, err);
	if (r < 0)
		return r;
	for (uint64_t i = 0; i < slots; i++) {
		const struct table_slot *slot = table_slots(table) + i;

		if (!table_slot_is_free(slot))
			*table_probe(&larger, slot->key) = *slot;
	}
	larger.count = table->count;
	table_close(table);
	*table = larger;
	return 0;
}

static unsigned table_log(uint64_t count)
{
	unsigned log = TABLE_LOG_FIRST;

	while (log < TABLE_LOG_MAX && count > (UINT64_C(3) << log) / 4)
		log++;
	return log;
}

int table_reserve(struct table *table, uint64_t count, struct error *err)
{
	unsigned log = table_log(count);

	if (count >> DSFS_ORDINAL_BITS)
		return error_set(err, -E2BIG, "a table of %" PRIu64 " keys, expected fewer than 2^%u", count,
				 DSFS_ORDINAL_BITS);
	return log > table->log ? table_resize(table, log, err) : 0;
}

void table_prefetch(const struct table *table, struct table_key key)
{
	__builtin_prefetch(table_slots(table) + table_home(table, table_legal(key)));
}

int table_add(struct table *table, struct table_key key, uint64_t value, struct error *err)
{
	struct table_slot *slot;
	int r;

	if ((table->count + 1) * 4 > (UINT64_C(3) << table->log)) {
		r = table_resize(table, table->log + 1, err);
		if (r < 0)
			return r;
	}
	key = table_legal(key);
	slot = table_probe(table, key);
	*slot = (struct table_slot){ .key = key, .value = value };
	table->count++;
	return 0;
}

int table_set(struct table *table, struct table_key key, uint64_t value, struct error *err)
{
	struct table_slot *slot = table_probe(table, table_legal(key));

	if (table_slot_is_free(slot))
		return table_add(table, key, value, err);
	slot->value = value;
	return 0;
}

uint64_t table_size(uint64_t count)
{
	return sizeof(struct table_slot) << table_log(count);
}
