/* SPDX-License-Identifier: MIT */
/* Adds up the counters of the workers and writes them as JSON (the fields are in datasetfs/control.h). */
#include "serve/dotdir/stats.h"

#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/format.h"
#include "base/json.h"
#include "image/block_sums.h"
#include "serve/ahead/ahead.h"
#include "serve/ahead/wishes.h"
#include "serve/clients/clients.h"
#include "serve/control/stale.h"
#include "serve/control/watchdog.h"
#include "serve/damage.h"
#include "serve/dotdir/protection.h"
#include "serve/request/standby.h"
#include "serve/serve.h"
#include "serve/worker/counters.h"
#include "serve/worker/worker.h"

/* offset: of the counter in struct counters. */
static uint64_t stats_get(const struct counters *counters, size_t offset)
{
	const void *counter = (const char *)counters + offset;

	return atomic_load_explicit((const counter64 *)counter, memory_order_relaxed);
}

uint64_t stats_ahead(const struct serve *serve, size_t offset)
{
	return serve->ahead ? stats_get(fetcher_counters(ahead_fetcher(serve->ahead)), offset) : 0;
}

uint64_t stats_wishes(const struct serve *serve, size_t offset)
{
	return serve->wishes ? stats_get(fetcher_counters(wishes_fetcher(serve->wishes)), offset) : 0;
}

#define STATS_OTHERS 4u /* threads that count, beside the workers */

/* The counter of each thread in turn; 0 where there is no such thread. */
static uint64_t stats_of(const struct serve *serve, unsigned i, size_t offset)
{
	const struct counters *standby;

	switch (i) {
	case 0:
		return stats_get(watchdog_counters(serve->watchdog), offset);
	case 1:
		return stats_ahead(serve, offset);
	case 2:
		return stats_wishes(serve, offset);
	case 3:
		standby = standby_counters(serve->standby);
		return standby ? stats_get(standby, offset) : 0;
	default:
		return stats_get(&serve->workers[i - STATS_OTHERS]->counters, offset);
	}
}

uint64_t stats_sum(const struct serve *serve, size_t offset)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < STATS_OTHERS + serve->worker_count; i++)
		sum += stats_of(serve, i, offset);
	return sum;
}

static uint64_t stats_later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t stats_latest(const struct serve *serve, size_t offset)
{
	uint64_t latest = 0;

	for (unsigned i = 0; i < STATS_OTHERS + serve->worker_count; i++)
		latest = stats_later(latest, stats_of(serve, i, offset));
	return latest;
}

uint64_t stats_last_failure(const struct serve *serve)
{
	return stats_later(stats_latest(serve, offsetof(struct counters, read.failed_at)),
			   atomic_load(&clients_counters(serve->clients)->failed_at));
}

uint64_t stats_last_error(const struct serve *serve)
{
	return stats_later(stats_latest(serve, offsetof(struct counters, read.error_at)),
			   atomic_load(&clients_counters(serve->clients)->error_at));
}

static void stats_requests(const struct serve *serve, struct json *json)
{
	uint64_t total = 0, n;

	json_begin_object(json, DSFS_CONTROL_REQUESTS);
	for (uint32_t i = 0; i <= WIRE_OPCODES; i++) {
		n = stats_sum(serve, offsetof(struct counters, requests) + i * sizeof(counter64));
		total += n;
		if (n)
			json_number(json, wire_opcode_name(i), n);
	}
	json_end_object(json);
	json_number(json, DSFS_CONTROL_REQUESTS_TOTAL, total);
}

static void stats_buckets(const struct serve *serve, struct json *json, const char *key, size_t offset)
{
	json_begin_array(json, key);
	for (size_t i = 0; i < DSFS_CONTROL_LATENCY_BUCKETS; i++)
		json_number(json, NULL, stats_sum(serve, offset + i * sizeof(counter64)));
	json_end_array(json);
}

static void stats_counters(const struct serve *serve, struct json *json)
{
	static const struct {
		const char *key;
		size_t offset;
	} counters[] = {
		{ DSFS_CONTROL_ERRORS, offsetof(struct counters, errors) },
		{ DSFS_CONTROL_INTERRUPTED, offsetof(struct counters, interrupted) },
		{ DSFS_CONTROL_BYTES_SERVED, offsetof(struct counters, bytes_served) },
		{ DSFS_CONTROL_FILES_SERVED, offsetof(struct counters, files_served) },
		{ DSFS_CONTROL_BYTES_STORED, offsetof(struct counters, bytes_stored) },
		{ DSFS_CONTROL_DEVICE_READS, offsetof(struct counters, read.device_reads) },
		{ DSFS_CONTROL_DEVICE_BYTES, offsetof(struct counters, read.device_bytes) },
		{ DSFS_CONTROL_DEVICE_ERRORS, offsetof(struct counters, read.device_errors) },
		{ DSFS_CONTROL_CHECKSUM_FAILURE, offsetof(struct counters, read.checksum_failures) },
		{ DSFS_CONTROL_RETRIES, offsetof(struct counters, read.retries) },
		{ DSFS_CONTROL_READ_FAILURES, offsetof(struct counters, read.failures) },
		{ DSFS_CONTROL_CACHE_HITS, offsetof(struct counters, read.cache_hits) },
		{ DSFS_CONTROL_SUMS_READS, offsetof(struct counters, read.block_sums_reads) },
		{ DSFS_CONTROL_SUMS_HITS, offsetof(struct counters, read.block_sums_hits) },
		{ DSFS_CONTROL_SUMS_FALLBACKS, offsetof(struct counters, read.block_sums_failures) },
	};

	for (size_t i = 0; i < sizeof(counters) / sizeof(*counters); i++)
		json_number(json, counters[i].key, stats_sum(serve, counters[i].offset));
	json_number(json, DSFS_CONTROL_LAST_FAILURE, stats_last_failure(serve));
	json_number(json, DSFS_CONTROL_LAST_ERROR, stats_last_error(serve));
}

/* What the two threads did that read ahead, and what became of it. */
static void stats_reads_ahead(const struct serve *serve, struct json *json)
{
	static const struct {
		const char *key;
		uint64_t (*get)(const struct serve *serve, size_t offset);
		size_t offset;
	} counters[] = {
		{ DSFS_CONTROL_AHEAD_FILES, stats_ahead, offsetof(struct counters, ahead_files) },
		{ DSFS_CONTROL_AHEAD_BYTES, stats_ahead, offsetof(struct counters, ahead_bytes) },
		{ DSFS_CONTROL_AHEAD_STORED, stats_ahead, offsetof(struct counters, ahead_stored) },
		{ DSFS_CONTROL_AHEAD_SERVED, stats_sum, offsetof(struct counters, ahead_served) },
		{ DSFS_CONTROL_AHEAD_DROPPED, stats_ahead, offsetof(struct counters, ahead_dropped) },
		{ DSFS_CONTROL_AHEAD_FAILURES, stats_ahead, offsetof(struct counters, ahead_failures) },
		{ DSFS_CONTROL_AHEAD_READS, stats_ahead, offsetof(struct counters, read.device_reads) },
		{ DSFS_CONTROL_PREFETCH_ANNOUNCED, stats_sum, offsetof(struct counters, prefetch_announced) },
		{ DSFS_CONTROL_PREFETCH_FILES, stats_wishes, offsetof(struct counters, ahead_files) },
		{ DSFS_CONTROL_PREFETCH_BYTES, stats_wishes, offsetof(struct counters, ahead_bytes) },
		{ DSFS_CONTROL_PREFETCH_READS, stats_wishes, offsetof(struct counters, read.device_reads) },
		{ DSFS_CONTROL_PREFETCH_STORED, stats_wishes, offsetof(struct counters, ahead_stored) },
		{ DSFS_CONTROL_PREFETCH_SERVED, stats_sum, offsetof(struct counters, prefetch_served) },
		{ DSFS_CONTROL_PREFETCH_DROPPED, stats_wishes, offsetof(struct counters, ahead_dropped) },
		{ DSFS_CONTROL_PREFETCH_FAILURES, stats_wishes, offsetof(struct counters, ahead_failures) },
	};

	for (size_t i = 0; i < sizeof(counters) / sizeof(*counters); i++)
		json_number(json, counters[i].key, counters[i].get(serve, counters[i].offset));
}

static void stats_generation(const struct generation *generation, bool current, struct json *json)
{
	json_begin_object(json, NULL);
	json_string(json, DSFS_CONTROL_LABEL, generation->version.label);
	json_number(json, DSFS_CONTROL_SEQUENCE, generation->sequence);
	json_number(json, DSFS_CONTROL_LOOKUPS, atomic_load(&generation->lookups));
	json_number(json, DSFS_CONTROL_INDEX_BYTES, generation->version.index_length);
	json_number(json, DSFS_CONTROL_SUMS_BYTES, block_sums_memory(generation->block_sums));
	json_bool(json, DSFS_CONTROL_IS_CURRENT, current);
	json_end_object(json);
}

static void stats_generations(struct serve *serve, struct json *json)
{
	const struct generation *current = serve_current(serve), *generation;

	json_begin_object(json, DSFS_CONTROL_GENERATION);
	json_number(json, DSFS_CONTROL_SEQUENCE, current->sequence);
	json_number(json, DSFS_CONTROL_LOOKUPS, atomic_load(&current->lookups));
	json_end_object(json);
	json_begin_array(json, DSFS_CONTROL_GENERATIONS);
	for (unsigned i = 0; i < GENERATIONS_MAX; i++) {
		generation = atomic_load(&serve->generations.slots[i]);
		if (generation)
			stats_generation(generation, generation == current, json);
	}
	json_end_array(json);
	json_number(json, DSFS_CONTROL_SWITCHES, atomic_load(&serve->switches));
	json_number(json, DSFS_CONTROL_SERVING_SINCE, atomic_load(&serve->serving_since));
	json_number(json, DSFS_CONTROL_LOADS, atomic_load(&serve->loads));
}

static void stats_groups(const struct serve_options *options, struct json *json)
{
	char group[16] = "";

	if (options->has_control_group)
		snprintf(group, sizeof(group), "%u", options->control_group);
	json_string(json, "control_group", group);
	json_string(json, "direct_group", options->has_direct_group ? options->direct_group_name : "");
}

/* In the order of main_words in main.c. */
static void stats_options(const struct serve_options *options, struct json *json)
{
	static const char *const ios[] = { "auto", "uring", "threads" };
	static const char *const channels[] = { "auto", "ring", "dev" };
	static const char *const notices[] = { "auto", "epoch", "entries" };
	char digest[DIGEST_TEXT_SIZE] = "";

	if (options->has_digest)
		format_digest(options->digest, digest);
	json_begin_object(json, DSFS_CONTROL_OPTIONS);
	json_string(json, "version", options->version ? options->version : "");
	json_string(json, "digest", digest);
	json_string(json, "verify", options->read.verify ? "always" : "never");
	json_string(json, "io", ios[options->io]);
	json_string(json, "channel", channels[options->channel]);
	json_number(json, "workers", options->workers);
	json_number(json, "readahead", options->ahead);
	json_number(json, "prefetch", options->prefetch);
	json_string(json, "on_error", options->read.wait ? "wait" : "eio");
	json_number(json, "deadline", options->read.deadline);
	stats_groups(options, json);
	json_number(json, "follow", options->follow);
	json_string(json, "notify", notices[options->notify]);
	json_bool(json, "versions", !options->noversions);
	json_bool(json, "allow_other", options->allow_other);
	json_bool(json, "exec", !options->noexec);
	json_bool(json, "suid", options->suid);
	json_end_object(json);
}

static void stats_identity(struct serve *serve, struct json *json)
{
	json_string(json, DSFS_CONTROL_RELEASE, DATASETFS_RELEASE);
	json_number(json, DSFS_CONTROL_PID, (uint64_t)getpid());
	json_real(json, DSFS_CONTROL_UPTIME, (double)(clock_now() - serve->started) / 1e9);
	json_real(json, DSFS_CONTROL_CPU, (double)clock_cpu() / 1e9);
	json_string(json, DSFS_CONTROL_CHANNEL, serve->ring ? "ring" : "dev");
	json_string(json, DSFS_CONTROL_IO, serve->uring ? "uring" : "threads");
	json_string(json, DSFS_CONTROL_IO_REASON, serve->io_reason);
	json_number(json, DSFS_CONTROL_WORKERS, serve->worker_count);
	json_number(json, DSFS_CONTROL_BUFFER_BUDGET, serve->buffer_budget);
	stats_options(&serve->options, json);
	stats_generations(serve, json);
}

const char *stats_member_state(const struct serve *serve, uint32_t number, int64_t now)
{
	if (serve_is_missing(serve, number))
		return "missing";
	return route_is_suspect(serve->route, number, now) ? "suspect" : "ok";
}

static void stats_member(const struct serve *serve, uint32_t number, int64_t now, struct json *json)
{
	const struct route_member *member = &serve->route->members[number];

	json_begin_object(json, NULL);
	json_number(json, DSFS_CONTROL_MEMBER, number);
	if (atomic_load(&serve->members[number].name))
		json_string(json, DSFS_CONTROL_MEMBER_NAME, atomic_load(&serve->members[number].name));
	else
		json_null(json, DSFS_CONTROL_MEMBER_NAME);
	json_string(json, DSFS_CONTROL_MEMBER_STATE, stats_member_state(serve, number, now));
	json_number(json, DSFS_CONTROL_MEMBER_READS, atomic_load(&member->reads));
	json_number(json, DSFS_CONTROL_MEMBER_BYTES, atomic_load(&member->bytes));
	json_number(json, DSFS_CONTROL_MEMBER_ERRORS, atomic_load(&member->errors));
	json_number(json, DSFS_CONTROL_MEMBER_IN_FLIGHT, atomic_load(&member->under_way));
	json_real(json, DSFS_CONTROL_MEMBER_LATENCY, (double)route_latency(serve->route, number, now) / 1e9);
	json_end_object(json);
}

/* Of a volume of one member the counters of all reads say the same. */
static void stats_members(const struct serve *serve, struct json *json)
{
	int64_t now = clock_now();

	json_begin_array(json, DSFS_CONTROL_MEMBERS);
	for (uint32_t i = 0; serve->route && i < serve->route->count; i++)
		stats_member(serve, i, now, json);
	json_end_array(json);
	json_number(json, DSFS_CONTROL_DAMAGED, damage_count(serve->damage));
}

static void stats_outdated(struct serve *serve, struct json *json)
{
	const char *word = stale_word(serve);

	if (word)
		json_string(json, DSFS_CONTROL_OUTDATED, word);
	else
		json_null(json, DSFS_CONTROL_OUTDATED);
	json_number(json, DSFS_CONTROL_OUTDATED_UNTIL, atomic_load(&serve->outdated_until));
}

static void stats_stalls(const struct serve *serve, struct json *json)
{
	struct watchdog_stalls stalls = watchdog_stalls(serve->watchdog);

	json_number(json, DSFS_CONTROL_STALLED_SINCE, stalls.since);
	json_number(json, DSFS_CONTROL_STALLS, stalls.count);
	json_real(json, DSFS_CONTROL_LONGEST_STALL, stalls.longest);
}

static void stats_clients(const struct serve *serve, struct json *json)
{
	static const char *const reported[HANDOVER_COUNTS] = {
		[HANDOVER_FILES] = DSFS_CONTROL_CLIENT_FILES,
		[HANDOVER_BYTES] = DSFS_CONTROL_CLIENT_BYTES,
		[HANDOVER_CHECKSUM_FAILURES] = DSFS_CONTROL_CLIENT_CHECKSUM,
		[HANDOVER_DEVICE_ERRORS] = DSFS_CONTROL_CLIENT_DEVICE,
		[HANDOVER_READ_FAILURES] = DSFS_CONTROL_CLIENT_FAILURES,
	};
	const struct clients_counters *counters = clients_counters(serve->clients);

	json_number(json, DSFS_CONTROL_CLIENTS, atomic_load(&counters->connected));
	json_string(json, DSFS_CONTROL_CLIENT_REASON, clients_reason(serve->clients));
	json_number(json, DSFS_CONTROL_CLIENT_OPENED, atomic_load(&counters->opened));
	json_number(json, DSFS_CONTROL_CLIENT_REFUSED, atomic_load(&counters->refused));
	json_number(json, DSFS_CONTROL_CLIENT_DROPPED, atomic_load(&counters->dropped));
	for (unsigned i = 0; i < HANDOVER_COUNTS; i++)
		json_number(json, reported[i], atomic_load(&counters->reported[i]));
}

void stats_write(struct serve *serve, struct json *json)
{
	/* Ended is read first: the difference cannot become negative. */
	uint64_t ended = stats_sum(serve, offsetof(struct counters, ended));
	uint64_t begun = stats_sum(serve, offsetof(struct counters, begun));

	json_begin_object(json, NULL);
	stats_identity(serve, json);
	stats_requests(serve, json);
	json_number(json, DSFS_CONTROL_IN_FLIGHT, begun - ended);
	stats_counters(serve, json);
	stats_reads_ahead(serve, json);
	stats_stalls(serve, json);
	stats_members(serve, json);
	stats_outdated(serve, json);
	protection_write(serve, json);
	stats_clients(serve, json);
	stats_buckets(serve, json, DSFS_CONTROL_READ_LATENCY, offsetof(struct counters, read_latency.buckets));
	stats_buckets(serve, json, DSFS_CONTROL_DEVICE_LATENCY, offsetof(struct counters, read.device_latency.buckets));
	json_end_object(json);
	fputc('\n', json->out);
}
