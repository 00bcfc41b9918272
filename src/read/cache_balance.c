/* SPDX-License-Identifier: MIT */
/* Asks a route of two what to expect of a read, and how many are under way. */
#include "read/beside.h"

#define BESIDE_READ  256u       /* the unit of a limit: parts of a read */
#define BESIDE_ANY   UINT32_MAX
#define BESIDE_LEAST 128u       /* below one read the cache is only tried */
#define BESIDE_TRY   8192u      /* by one of so many reads */
#define BESIDE_SLOWS 16u        /* slow reads that are none yet: any read may be slow on a busy machine */
#define BESIDE_CALM  64u        /* round trips without a slow read, after which there is no limit any more */

#define BESIDE_LOAD(FIELD)         atomic_load_explicit(&(FIELD), memory_order_relaxed)
#define BESIDE_STORE(FIELD, VALUE) atomic_store_explicit(&(FIELD), (VALUE), memory_order_relaxed)

int beside_open(struct beside *beside, struct error *err)
{
	*beside = (struct beside){ .most = BESIDE_ANY };
	return route_new(BESIDE_PLACES, &beside->route, err);
}

void beside_close(struct beside *beside)
{
	route_free(beside->route);
}

bool beside_is_suspect(const struct beside *beside, int64_t now)
{
	return route_is_suspect(beside->route, BESIDE_CACHE, now);
}

static uint32_t beside_under_way(const struct beside *beside)
{
	return BESIDE_LOAD(beside->route->members[BESIDE_CACHE].under_way);
}

/* Many reads may end together, so how many there were is noted as they begin. */
static void beside_note(struct beside *beside)
{
	uint32_t under_way = beside_under_way(beside) + 1;

	if (BESIDE_LOAD(beside->slows) && under_way > BESIDE_LOAD(beside->peak))
		BESIDE_STORE(beside->peak, under_way);
}

/* Whether one more read may be under way. */
static bool beside_lets(struct beside *beside)
{
	uint32_t most = BESIDE_LOAD(beside->most);

	if (most == BESIDE_ANY) {
		beside_note(beside);
		return true;
	}
	if (most >= BESIDE_READ)
		return beside_under_way(beside) < most / BESIDE_READ;
	return atomic_fetch_add_explicit(&beside->turn, 1, memory_order_relaxed) % BESIDE_TRY == 0;
}

bool beside_takes(struct beside *beside, int64_t now)
{
	if (beside_is_suspect(beside, now))
		return route_probes(beside->route, BESIDE_CACHE, now);
	return beside_lets(beside);
}

int64_t beside_limit(const struct beside *beside, int64_t now)
{
	int64_t volume = route_latency(beside->route, BESIDE_VOLUME, now);

	return BESIDE_TIMES * volume > BESIDE_SLOW ? BESIDE_TIMES * volume : BESIDE_SLOW;
}

/* Takes a quarter away from the limit, or from the reads that there were. */
static void beside_shrink(struct beside *beside, int64_t now)
{
	uint32_t most = BESIDE_LOAD(beside->most), peak = BESIDE_LOAD(beside->peak), present = beside_under_way(beside);

	if (most == BESIDE_ANY)
		most = ((peak > present ? peak : present) + 1) * BESIDE_READ;
	most = most / 4 * 3;
	BESIDE_STORE(beside->most, most > BESIDE_LEAST ? most : BESIDE_LEAST);
	BESIDE_STORE(beside->peak, 0);
	BESIDE_STORE(beside->others, 0);
	BESIDE_STORE(beside->shrunk, now);
}

/* By a read in a round trip, or by a 32nd if that is more. */
static void beside_grow(struct beside *beside)
{
	uint32_t most = BESIDE_LOAD(beside->most), others = BESIDE_LOAD(beside->others) + 1;
	uint32_t growth = BESIDE_READ * BESIDE_READ / most;

	if (most == BESIDE_ANY)
		return;
	if (others / BESIDE_CALM > most / BESIDE_READ)
		most = BESIDE_ANY;
	else if (most < BESIDE_READ)
		most += BESIDE_LEAST / 2;
	else
		most += growth > BESIDE_READ / 32 ? growth : BESIDE_READ / 32;
	BESIDE_STORE(beside->others, others);
	BESIDE_STORE(beside->most, most);
}

void beside_learn(struct beside *beside, bool was_slow, int64_t begun, int64_t now)
{
	uint32_t slows = BESIDE_LOAD(beside->slows);

	if (!was_slow) {
		if (slows)
			BESIDE_STORE(beside->slows, slows > 4 ? slows - 4 : 0);
		beside_grow(beside);
		return;
	}
	if (slows < 2 * BESIDE_SLOWS)
		BESIDE_STORE(beside->slows, slows + 1);
	if (slows >= BESIDE_SLOWS && begun >= BESIDE_LOAD(beside->shrunk))
		beside_shrink(beside, now);
}
