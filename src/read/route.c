/* SPDX-License-Identifier: MIT */
/* Scores a member by the time that a read is expected to take: (reads in flight + 1) times its latency, or times the
 * time since anything came back if that is longer. So a stuck member gets worse by itself. Several threads may
 * choose the same member at once; later choices see it. */
#include "read/route.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

int route_new(uint32_t count, struct route **ret, struct error *err)
{
	*ret = calloc(1, sizeof(**ret) + count * sizeof((*ret)->members[0]));
	if (!*ret)
		return error_no_memory(err);
	(*ret)->count = count;
	return 0;
}

void route_free(struct route *route)
{
	free(route);
}

#define ROUTE_LOAD(FIELD)         atomic_load_explicit(&(FIELD), memory_order_relaxed)
#define ROUTE_STORE(FIELD, VALUE) atomic_store_explicit(&(FIELD), (VALUE), memory_order_relaxed)

int64_t route_silence(const struct route *route, uint32_t number, int64_t now)
{
	const struct route_member *member = &route->members[number];
	bool waits = atomic_load_explicit(&member->under_way, memory_order_acquire) != 0; /* see route_begin() */
	int64_t silence = now - ROUTE_LOAD(member->progress);

	return waits && silence > 0 ? silence : 0;
}

bool route_is_suspect(const struct route *route, uint32_t number, int64_t now)
{
	const struct route_member *member = &route->members[number];
	int64_t limit = ROUTE_SLOWER * ROUTE_LOAD(member->base);

	return ROUTE_LOAD(member->failures) >= ROUTE_FAILURES ||
	       route_silence(route, number, now) > (limit > ROUTE_SILENCE ? limit : ROUTE_SILENCE);
}

/* Lets one read of a suspect member through now and then, whatever its score, to test whether it is well again. */
bool route_probes(struct route *route, uint32_t number, int64_t now)
{
	struct route_member *member = &route->members[number];
	int64_t last = ROUTE_LOAD(member->probed);

	return !ROUTE_LOAD(member->under_way) && now - last >= ROUTE_PROBE &&
	       atomic_compare_exchange_strong(&member->probed, &last, now);
}

static void route_progress(const struct route *route, struct route_member *member, int64_t now)
{
	ROUTE_STORE(member->progress, now);
	ROUTE_STORE(member->passed, ROUTE_LOAD(route->ended));
}

/* Returns how much of ROUTE_FADE has passed since the member's last read: by the clock or by the reads of others,
 * whichever is less. */
static int64_t route_faded(const struct route *route, const struct route_member *member, int64_t now)
{
	int64_t since = now - ROUTE_LOAD(member->progress);
	int64_t reads = (int64_t)(ROUTE_LOAD(route->ended) - ROUTE_LOAD(member->passed)), by_reads;

	by_reads = reads < ROUTE_FADES ? reads * (ROUTE_FADE / ROUTE_FADES) : ROUTE_FADE;
	if (since > by_reads)
		since = by_reads;
	return since > 0 ? since : 0;
}

/* Returns the latency, as far as it has faded back to the base since the last read. */
int64_t route_latency(const struct route *route, uint32_t number, int64_t now)
{
	const struct route_member *member = &route->members[number];
	int64_t base = ROUTE_LOAD(member->base), above = ROUTE_LOAD(member->latency) - base;
	int64_t left = ROUTE_FADE - route_faded(route, member, now);

	if (above <= 0 || left <= 0)
		return base;
	return base + above / ROUTE_FADE * left + above % ROUTE_FADE * left / ROUTE_FADE;
}

static double route_score(const struct route *route, uint32_t number, int64_t now)
{
	int64_t latency = route_latency(route, number, now), silence = route_silence(route, number, now);

	if (silence > latency)
		latency = silence;
	return ((double)ROUTE_LOAD(route->members[number].under_way) + 1) * (double)(latency > 0 ? latency : 1);
}

uint32_t route_choose(struct route *route, const uint32_t *members, uint32_t count, int64_t now)
{
	bool best_is_suspect = true;
	double best_score = INFINITY;
	uint32_t best = 0;

	for (uint32_t i = 0; i < count; i++) {
		bool is_suspect = route_is_suspect(route, members[i], now);
		double score = route_score(route, members[i], now);

		if (is_suspect && route_probes(route, members[i], now))
			return i;
		if (is_suspect < best_is_suspect || (is_suspect == best_is_suspect && score < best_score)) {
			best = i;
			best_is_suspect = is_suspect;
			best_score = score;
		}
	}
	return best;
}

void route_begin(struct route *route, uint32_t number, int64_t now)
{
	struct route_member *member = &route->members[number];

	if (!ROUTE_LOAD(member->under_way)) {
		ROUTE_STORE(member->latency, route_latency(route, number, now)); /* as far as it faded while idle */
		route_progress(route, member, now);
	}
	/* Must come last: a member that was idle must not seem to have been silent all that time. */
	atomic_fetch_add_explicit(&member->under_way, 1, memory_order_release);
}

/* Updates the base: a faster read sets it at once, a slower one moves it by a 1024th of the difference, or of itself
 * if that is less. So the base follows the device, and one read that hung does not distort it. */
static int64_t route_base(int64_t base, int64_t took)
{
	int64_t above = took - base;

	if (!base || above < 0)
		return took;
	return base + (above < base ? above : base) / 1024;
}

static void route_learn(struct route *route, uint32_t number, int64_t took, int64_t now)
{
	struct route_member *member = &route->members[number];
	int64_t base = route_base(ROUTE_LOAD(member->base), took), latency = route_latency(route, number, now);

	latency = took > latency ? latency + (took - latency) / 2 : latency + (took - latency) / 8;
	ROUTE_STORE(member->base, base);
	ROUTE_STORE(member->latency, latency);
}

static void route_count(struct route *route, struct route_member *member, int64_t result)
{
	atomic_fetch_add_explicit(&route->ended, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&member->reads, 1, memory_order_relaxed);
	if (result > 0)
		atomic_fetch_add_explicit(&member->bytes, (uint64_t)result, memory_order_relaxed);
	else
		atomic_fetch_add_explicit(&member->errors, 1, memory_order_relaxed);
}

void route_end(struct route *route, uint32_t number, int64_t begun, int64_t now, int64_t result)
{
	struct route_member *member = &route->members[number];

	route_count(route, member, result);
	if (result <= 0) {
		atomic_fetch_add_explicit(&member->failures, 1, memory_order_relaxed);
	} else {
		if (ROUTE_LOAD(member->failures))
			ROUTE_STORE(member->failures, 0);
		route_learn(route, number, now > begun ? now - begun : 0, now);
	}
	route_progress(route, member, now);
	/* Must come last here too: a thread that sees the count must see the progress that led to it. */
	atomic_fetch_sub_explicit(&member->under_way, 1, memory_order_release);
}
