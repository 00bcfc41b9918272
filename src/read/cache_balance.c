/* SPDX-License-Identifier: MIT */
/* Asks a route of two what to expect of a read, and how many are under way. */
#include "read/cache_balance.h"

#define BALANCE_READ  256u       /* the unit of a limit: parts of a read */
#define BALANCE_ANY   UINT32_MAX
#define BALANCE_LEAST 128u       /* below one read the cache is only tried */
#define BALANCE_TRY   8192u      /* by one of so many reads */
#define BALANCE_SLOWS 16u        /* slow reads that are none yet: any read may be slow on a busy machine */
#define BALANCE_CALM  64u        /* round trips without a slow read, after which there is no limit any more */

#define BALANCE_LOAD(FIELD)         atomic_load_explicit(&(FIELD), memory_order_relaxed)
#define BALANCE_STORE(FIELD, VALUE) atomic_store_explicit(&(FIELD), (VALUE), memory_order_relaxed)

int cache_balance_open(struct cache_balance *balance, struct error *err)
{
	*balance = (struct cache_balance){ .most = BALANCE_ANY };
	return route_new(BALANCE_PLACES, &balance->route, err);
}

void cache_balance_close(struct cache_balance *balance)
{
	route_free(balance->route);
}

bool cache_balance_is_suspect(const struct cache_balance *balance, int64_t now)
{
	return route_is_suspect(balance->route, BALANCE_CACHE, now);
}

static uint32_t cache_balance_under_way(const struct cache_balance *balance)
{
	return BALANCE_LOAD(balance->route->members[BALANCE_CACHE].under_way);
}

/* Many reads may end together, so how many there were is noted as they begin. */
static void cache_balance_note(struct cache_balance *balance)
{
	uint32_t under_way = cache_balance_under_way(balance) + 1;

	if (BALANCE_LOAD(balance->slows) && under_way > BALANCE_LOAD(balance->peak))
		BALANCE_STORE(balance->peak, under_way);
}

/* Whether one more read may be under way. */
static bool cache_balance_lets(struct cache_balance *balance)
{
	uint32_t most = BALANCE_LOAD(balance->most);

	if (most == BALANCE_ANY) {
		cache_balance_note(balance);
		return true;
	}
	if (most >= BALANCE_READ)
		return cache_balance_under_way(balance) < most / BALANCE_READ;
	return atomic_fetch_add_explicit(&balance->turn, 1, memory_order_relaxed) % BALANCE_TRY == 0;
}

bool cache_balance_takes(struct cache_balance *balance, int64_t now)
{
	if (cache_balance_is_suspect(balance, now))
		return route_probes(balance->route, BALANCE_CACHE, now);
	return cache_balance_lets(balance);
}

int64_t cache_balance_limit(const struct cache_balance *balance, int64_t now)
{
	int64_t volume = route_latency(balance->route, BALANCE_VOLUME, now);

	return BALANCE_TIMES * volume > BALANCE_SLOW ? BALANCE_TIMES * volume : BALANCE_SLOW;
}

/* Takes a quarter away from the limit, or from the reads that there were. */
static void cache_balance_shrink(struct cache_balance *balance, int64_t now)
{
	uint32_t most = BALANCE_LOAD(balance->most), peak = BALANCE_LOAD(balance->peak);
	uint32_t present = cache_balance_under_way(balance);

	if (most == BALANCE_ANY)
		most = ((peak > present ? peak : present) + 1) * BALANCE_READ;
	most = most / 4 * 3;
	BALANCE_STORE(balance->most, most > BALANCE_LEAST ? most : BALANCE_LEAST);
	BALANCE_STORE(balance->peak, 0);
	BALANCE_STORE(balance->others, 0);
	BALANCE_STORE(balance->shrunk, now);
}

/* By a read in a round trip, or by a 32nd if that is more. */
static void cache_balance_grow(struct cache_balance *balance)
{
	uint32_t most = BALANCE_LOAD(balance->most), others = BALANCE_LOAD(balance->others) + 1;
	uint32_t growth = BALANCE_READ * BALANCE_READ / most;

	if (most == BALANCE_ANY)
		return;
	if (others / BALANCE_CALM > most / BALANCE_READ)
		most = BALANCE_ANY;
	else if (most < BALANCE_READ)
		most += BALANCE_LEAST / 2;
	else
		most += growth > BALANCE_READ / 32 ? growth : BALANCE_READ / 32;
	BALANCE_STORE(balance->others, others);
	BALANCE_STORE(balance->most, most);
}

void cache_balance_learn(struct cache_balance *balance, bool was_slow, int64_t begun, int64_t now)
{
	uint32_t slows = BALANCE_LOAD(balance->slows);

	if (!was_slow) {
		if (slows)
			BALANCE_STORE(balance->slows, slows > 4 ? slows - 4 : 0);
		cache_balance_grow(balance);
		return;
	}
	if (slows < 2 * BALANCE_SLOWS)
		BALANCE_STORE(balance->slows, slows + 1);
	if (slows >= BALANCE_SLOWS && begun >= BALANCE_LOAD(balance->shrunk))
		cache_balance_shrink(balance, now);
}
