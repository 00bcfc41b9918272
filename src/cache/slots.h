/* SPDX-License-Identifier: MIT */
/* Which parts of a cache's data are free, and which may be used again. It uses no file and no clock: times are minutes
 * since 1970. One thread takes and reclaims; any thread notes hits.
 *
 * For readers that read each file once an epoch, no cache is better than one that fills up and then stays as it is. So
 * slots that were hit in the last three days stay; of the others the one that was filled first is used again, and never
 * more than all of them in a day. */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define SLOTS_SIZE  (4u << 20)     /* bytes of a slot */
#define SLOTS_STAY  (3u * 24 * 60) /* minutes for which a slot stays after a hit */
#define SLOTS_DAY   (24u * 60)
#define SLOTS_SHARE 64u            /* of so many slots one is reclaimed at a time: each time costs a walk of the map */

struct slot {
	_Atomic uint32_t filled; /* when it was taken; 0: it is free */
	_Atomic uint32_t hit;    /* when it was last read */
};

struct slots {
	struct slot *list; /* the owner's memory, zero when all are free */
	uint32_t count, free;
	uint32_t hand;     /* the slot to look at next: slots are filled in turn, so it is the oldest one */
	uint32_t day, taken; /* how many were taken on that day */
};

void slots_open(struct slots *slots, struct slot *list, uint32_t count);
/* Counts free slots. Others may note hits meanwhile. */
void slots_count(struct slots *slots);

static inline void slots_hit(struct slots *slots, uint32_t slot, uint32_t now)
{
	if (atomic_load_explicit(&slots->list[slot].hit, memory_order_relaxed) != now)
		atomic_store_explicit(&slots->list[slot].hit, now, memory_order_relaxed);
}

static inline bool slots_is_free(const struct slots *slots, uint32_t slot)
{
	return atomic_load_explicit(&slots->list[slot].filled, memory_order_relaxed) == 0;
}

/* Takes a free slot. False: there is none, or as many were taken today as there are. */
bool slots_take(struct slots *slots, uint32_t now, uint32_t *ret);
/* Gives back a slot that was not used. */
void slots_give(struct slots *slots, uint32_t slot);
/* Frees slots that were not read for long, the oldest first. Returns how many. */
uint32_t slots_reclaim(struct slots *slots, uint32_t now);
