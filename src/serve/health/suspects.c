/* SPDX-License-Identifier: MIT */
/* Compares the state of each member with its last state. Workers and threads that read ahead are only woken, and each
 * abandons its own reads. */
#include "serve/health/suspects.h"

#include <inttypes.h>

#include "base/clock.h"
#include "base/log.h"
#include "read/cached.h"
#include "serve/clients/clients.h"
#include "serve/readahead/fetchers.h"
#include "serve/request/waiting.h"

static bool suspects_fails(const struct serve *serve, uint32_t number)
{
	return atomic_load(&serve->volume.route->members[number].failures) >= ROUTE_FAILURES;
}

static void suspects_report(const struct serve *serve, uint32_t number, bool is_suspect)
{
	static struct log_limit limit = { .burst = 10 };
	const char *name = atomic_load(&serve->volume.members[number].name), *volume = serve->options.volume;
	unsigned suppressed;

	if (!log_allow(&limit, &suppressed))
		return;
	if (!is_suspect)
		log_warn("member %" PRIu32 " ('%s') of '%s' answers again, suppressed=%u", number, name, volume,
			 suppressed);
	else if (suspects_fails(serve, number))
		log_warn("reads of member %" PRIu32 " ('%s') of '%s' fail, the copies of other members are read, "
			 "suppressed=%u", number, name, volume, suppressed);
	else
		log_warn("member %" PRIu32 " ('%s') of '%s' does not answer, the copies of other members are read, "
			 "in_flight=%" PRIu32 " suppressed=%u", number, name, volume,
			 atomic_load(&serve->volume.route->members[number].under_way), suppressed);
}

/* Has reads that wait for a suspect member abandoned. A worker is woken only if it has waited long enough for its
 * member to be suspect. */
static void suspects_leave(struct serve *serve, int64_t now)
{
	int64_t oldest;

	for (unsigned i = 0; i < serve->worker_count; i++) {
		oldest = waiting_oldest(serve->workers[i]);
		if (oldest && now - oldest >= ROUTE_SILENCE)
			waiting_leave(serve->workers[i]);
	}
	fetchers_each(serve, fetcher_leave);
}

static bool suspects_look_at_cache(struct suspects *suspects, const struct serve *serve, int64_t now)
{
	static struct log_limit limit = { .burst = 10 };
	bool is_suspect = serve->cached && cache_balance_is_suspect(&serve->cached->balance, now);
	unsigned suppressed;

	if (is_suspect != suspects->was_cached && log_allow(&limit, &suppressed))
		log_warn("cache '%s': its drive %s, suppressed=%u", serve->options.cache,
			 is_suspect ? "does not answer or fails, the volume is read instead" : "answers again",
			 suppressed);
	suspects->was_cached = is_suspect;
	return is_suspect;
}

bool suspects_look(struct suspects *suspects, struct serve *serve)
{
	int64_t now = clock_now();
	bool any = suspects_look_at_cache(suspects, serve, now);

	suspects->is_failing = false;
	for (uint32_t i = 0; serve->volume.route && i < serve->volume.route->count; i++) {
		bool is_suspect = atomic_load(&serve->volume.members[i].name) &&
				  route_is_suspect(serve->volume.route, i, now);

		if (is_suspect != suspects->was[i])
			suspects_report(serve, i, is_suspect);
		if (suspects->was[i] && !is_suspect && atomic_exchange(&serve->due.offer, false))
			clients_renew(serve->clients);
		suspects->was[i] = is_suspect;
		any |= is_suspect;
		suspects->is_failing |= is_suspect && suspects_fails(serve, i);
	}
	if (any)
		suspects_leave(serve, now);
	return any;
}
