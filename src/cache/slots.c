/* SPDX-License-Identifier: MIT */
/* Goes round the slots. */
#include "cache/slots.h"

void slots_open(struct slots *slots, struct slot *list, uint32_t count)
{
	*slots = (struct slots){ .list = list, .count = count };
	slots_count(slots);
}

void slots_count(struct slots *slots)
{
	uint32_t free = 0;

	for (uint32_t i = 0; i < slots->count; i++)
		free += slots_is_free(slots, i);
	slots->free = free;
}

static uint32_t slots_turn(struct slots *slots)
{
	uint32_t slot = slots->hand < slots->count ? slots->hand : 0;

	slots->hand = slot + 1;
	return slot;
}

static bool slots_may_take(struct slots *slots, uint32_t now)
{
	if (slots->day != now / SLOTS_DAY) {
		slots->day = now / SLOTS_DAY;
		slots->taken = 0;
	}
	return slots->free && slots->taken < slots->count;
}

static void slots_fill(struct slots *slots, uint32_t slot, uint32_t now)
{
	slots_hit(slots, slot, now);
	atomic_store_explicit(&slots->list[slot].filled, now, memory_order_relaxed);
	slots->free--;
	slots->taken++;
}

bool slots_take(struct slots *slots, uint32_t now, uint32_t *ret)
{
	uint32_t slot;

	if (!slots_may_take(slots, now))
		return false;
	for (uint32_t i = 0; i < slots->count; i++) {
		slot = slots_turn(slots);
		if (slots_is_free(slots, slot)) {
			slots_fill(slots, slot, now);
			*ret = slot;
			return true;
		}
	}
	slots->free = 0; /* an earlier process took free slots until all its threads had ended */
	return false;
}

static void slots_set_free(struct slots *slots, uint32_t slot)
{
	atomic_store_explicit(&slots->list[slot].filled, 0, memory_order_relaxed);
	slots->free++;
}

void slots_give(struct slots *slots, uint32_t slot)
{
	slots_set_free(slots, slot);
	slots->taken -= slots->taken > 0; /* the day may have changed */
}

/* A time in the future, which the clock or a foreign file brought, is as good as none. */
static bool slots_stays(const struct slots *slots, uint32_t slot, uint32_t now)
{
	uint32_t hit = atomic_load_explicit(&slots->list[slot].hit, memory_order_relaxed);

	return hit <= now && now - hit < SLOTS_STAY;
}

uint32_t slots_reclaim(struct slots *slots, uint32_t now)
{
	uint32_t most = slots->count / SLOTS_SHARE + 1, begin = slots->hand, slot, freed = 0;

	for (uint32_t i = 0; i < slots->count && freed < most; i++) {
		slot = slots_turn(slots);
		if (slots_is_free(slots, slot) || slots_stays(slots, slot, now))
			continue;
		slots_set_free(slots, slot);
		freed++;
	}
	slots->hand = begin; /* from where they are taken again in the same order */
	return freed;
}
