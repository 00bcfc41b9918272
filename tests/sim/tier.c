/* SPDX-License-Identifier: MIT */
#include "tier.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/round.h"
#include "image/chunk.h"

#define TIER_BLOCKS  (SLOTS_SIZE / STAGE_BLOCK) /* of a slot */
#define TIER_MINUTES (100u * SLOTS_DAY)         /* the date when the simulation begins */

static void *tier_alloc(size_t count, size_t size)
{
	void *memory = calloc(count ? count : 1, size);

	if (!memory) {
		fprintf(stderr, "sim: no memory\n");
		exit(1);
	}
	return memory;
}

static int64_t tier_minute_ns(const struct tier *tier)
{
	return tier->setup->day / (int64_t)SLOTS_DAY;
}

static uint32_t tier_minute(const struct tier *tier, int64_t now)
{
	return TIER_MINUTES + (uint32_t)(now / tier_minute_ns(tier));
}

void tier_init(struct tier *tier, const struct tier_setup *setup, int64_t now)
{
	uint64_t bytes = round_up(setup->bytes, STAGE_BLOCK), all = bytes * setup->files;
	uint32_t count = (uint32_t)(setup->part * (double)all / SLOTS_SIZE + 0.5);

	*tier = (struct tier){ .setup = setup, .blocks = (uint32_t)(bytes / STAGE_BLOCK), .resumes = now };
	tier->per_slot = TIER_BLOCKS / tier->blocks;
	tier->accepts = count > 0 && !setup->evicts;
	slots_open(&tier->slots, tier_alloc(count, sizeof(struct slot)), count);
	tier->map.buckets = chunk_map_buckets((uint64_t)count * tier->per_slot);
	tier->map.words = tier_alloc(1, chunk_map_bytes(tier->map.buckets));
	tier->contents = tier_alloc((size_t)count * tier->per_slot, sizeof(*tier->contents));
	tier->staged = tier_alloc((size_t)STAGE_BUFFERS * tier->per_slot, sizeof(*tier->staged));
	if (setup->evicts)
		lru_init(&tier->lru, setup->files, (uint32_t)(setup->part * setup->files));
}

void tier_free(struct tier *tier)
{
	free(tier->slots.list);
	free((void *)tier->map.words);
	free(tier->contents);
	free(tier->staged);
	lru_free(&tier->lru);
}

/* ---- what it holds ---- */

static uint64_t tier_key(const struct tier *tier, uint64_t id)
{
	struct chunk chunk = { .address = (uint32_t)id * tier->setup->bytes, .stored = (uint32_t)tier->setup->bytes };

	memcpy(chunk.sum.bytes, &id, sizeof(id));
	return chunk_map_key(&chunk);
}

/* Where the file at a block is noted; NULL: no file begins there. */
static uint64_t *tier_content(const struct tier *tier, uint64_t block)
{
	uint64_t slot = block / TIER_BLOCKS, within = block % TIER_BLOCKS / tier->blocks;

	return slot < tier->slots.count && within < tier->per_slot ?
		       &tier->contents[slot * tier->per_slot + within] : NULL;
}

bool tier_find(const struct tier *tier, uint64_t id, uint64_t *ret_block)
{
	*ret_block = 0;
	if (tier->setup->evicts)
		return lru_holds(&tier->lru, id);
	return tier->slots.count && chunk_map_find(&tier->map, tier_key(tier, id), ret_block);
}

bool tier_hit(struct tier *tier, uint64_t id, uint64_t block, int64_t now)
{
	const uint64_t *content = tier_content(tier, block);

	if (tier->setup->evicts)
		return lru_use(&tier->lru, id), true;
	if (content && *content == id) {
		slots_hit(&tier->slots, (uint32_t)(block / TIER_BLOCKS), tier_minute(tier, now));
		return true;
	}
	tier->wrong++;
	chunk_map_clear(&tier->map, tier_key(tier, id), block);
	return false;
}

static void tier_publish(struct tier *tier, uint32_t slot, uint32_t within, uint64_t id)
{
	uint64_t block = (uint64_t)slot * TIER_BLOCKS + (uint64_t)within * tier->blocks, there;

	tier->contents[(size_t)slot * tier->per_slot + within] = id;
	if (!chunk_map_find(&tier->map, tier_key(tier, id), &there) &&
	    chunk_map_put(&tier->map, tier_key(tier, id), block))
		tier->filled++;
	else
		tier->dropped++;
}

/* ---- slots: as src/cache/store.c takes them ---- */

static bool tier_is_free(const void *argument, uint64_t block)
{
	const struct slots *slots = argument;

	return slots_is_free(slots, (uint32_t)(block / TIER_BLOCKS));
}

static bool tier_reclaim(struct tier *tier, int64_t now)
{
	if (!slots_reclaim(&tier->slots, tier_minute(tier, now)))
		return false;
	(void)chunk_map_sweep(&tier->map, tier_is_free, &tier->slots);
	return true;
}

static bool tier_take(struct tier *tier, int64_t now)
{
	if ((tier->slots.free || tier_reclaim(tier, now)) &&
	    slots_take(&tier->slots, tier_minute(tier, now), &tier->slot)) {
		memset(&tier->contents[(size_t)tier->slot * tier->per_slot], 0,
		       tier->per_slot * sizeof(*tier->contents));
		return true;
	}
	tier->accepts = false;
	tier->resumes = now + tier_minute_ns(tier);
	return false;
}

static void tier_resume(struct tier *tier, int64_t now)
{
	if (tier->accepts || now < tier->resumes || !tier->slots.count)
		return;
	tier->accepts = tier->slots.free || tier_reclaim(tier, now);
	tier->resumes = now + tier_minute_ns(tier);
}

/* ---- the stage ---- */

static unsigned tier_buffer(unsigned number)
{
	return number % STAGE_BUFFERS;
}

/* Finds the buffer that has room. */
static bool tier_room(struct tier *tier)
{
	if (tier->counts[tier_buffer(tier->last)] < tier->per_slot)
		return true;
	if (tier->last + 1 - tier->first == STAGE_BUFFERS)
		return false;
	tier->last++;
	return true;
}

bool tier_add(struct tier *tier, uint64_t id, int64_t now)
{
	unsigned buffer;
	uint64_t there;

	if (tier->setup->evicts)
		return tier->written += lru_use(&tier->lru, id) ? tier->setup->bytes : 0, true;
	tier_resume(tier, now);
	if (!tier->accepts || tier_find(tier, id, &there))
		return true;
	if (!tier_room(tier)) {
		tier->dropped += !tier->setup->waits;
		return !tier->setup->waits;
	}
	buffer = tier_buffer(tier->last);
	tier->staged[buffer * tier->per_slot + tier->counts[buffer]++] = id;
	return true;
}

void tier_put(struct tier *tier, uint64_t id, int64_t now)
{
	uint32_t within = tier->puts % tier->per_slot;

	if (tier->setup->evicts)
		(void)(tier->lru.count < tier->lru.room && lru_use(&tier->lru, id));
	else if (within || tier_take(tier, now))
		tier_publish(tier, tier->slot, within, id), tier->puts++;
}

bool tier_is_due(const struct tier *tier)
{
	return tier->first != tier->last || tier->counts[tier_buffer(tier->first)] == tier->per_slot;
}

bool tier_has_more(const struct tier *tier)
{
	return tier->counts[tier_buffer(tier->first)] > tier->to;
}

/* The first buffer is empty again, if it is the last part of it that was written. */
static void tier_end(struct tier *tier)
{
	if (tier->to < tier->per_slot)
		return;
	tier->counts[tier_buffer(tier->first)] = 0;
	tier->from = tier->to = 0;
	if (tier->first == tier->last)
		tier->last++;
	tier->first++;
}

void tier_begin(struct tier *tier, int64_t now)
{
	tier->from = tier->to;
	tier->to = tier->counts[tier_buffer(tier->first)];
	if (!tier->from)
		tier->has_slot = tier_take(tier, now);
	if (tier->has_slot) {
		tier->left = (uint64_t)(tier->to - tier->from) * tier->blocks * STAGE_BLOCK;
		return;
	}
	tier->dropped += tier->to - tier->from;
	tier_end(tier);
}

void tier_wrote(struct tier *tier, uint64_t bytes)
{
	const uint64_t *staged = &tier->staged[tier_buffer(tier->first) * tier->per_slot];

	tier->written += bytes;
	tier->left -= bytes;
	if (tier->left)
		return;
	for (uint32_t i = tier->from; i < tier->to; i++)
		tier_publish(tier, tier->slot, i, staged[i]);
	tier_end(tier);
}

double tier_fullness(const struct tier *tier)
{
	uint64_t held = tier->lru.count;

	for (size_t i = 0; i < (size_t)tier->slots.count * tier->per_slot; i++)
		held += tier->contents[i] != 0;
	return tier->setup->files ? (double)held / tier->setup->files : 0;
}
