/* SPDX-License-Identifier: MIT */
/* Writes the numbers of series.c and the state of the mount as JSON (the fields are in datasetfs/control.h). */
#include "serve/dotdir/stats.h"

#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/program/installed.h"
#include "base/text/json.h"
#include "image/catalogue/block_sums.h"
#include "image/sums/sum.h"
#include "serve/cache/cached_chunks.h"
#include "serve/clients/clients.h"
#include "serve/control/follow.h"
#include "serve/control/stale.h"
#include "serve/dotdir/protection.h"
#include "serve/dotdir/series.h"
#include "serve/health/watchdog.h"
#include "serve/serve.h"
#include "serve/successor/successor.h"
#include "serve/worker/counters.h"
#include "supervisor/keep.h"
#include "trust/statement.h"

static void stats_requests(const struct serve *serve, struct json *json)
{
	uint64_t total = 0, n;

	json_begin_object(json, DSFS_CONTROL_REQUESTS);
	for (uint32_t i = 0; i <= WIRE_OPCODES; i++) {
		n = series_sum(serve, offsetof(struct counters, requests) + i * sizeof(counter64));
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
		json_number(json, NULL, series_sum(serve, offset + i * sizeof(counter64)));
	json_end_array(json);
}

static void stats_series(const struct serve *serve, struct json *json)
{
	for (const struct series *series = series_list; series->key; series++)
		json_number(json, series->key, series->get(serve, series->offset));
}

static void stats_generation(const struct generation *generation, bool current, struct json *json)
{
	json_begin_object(json, NULL);
	json_string(json, DSFS_CONTROL_LABEL, generation->opened.version.label);
	json_number(json, DSFS_CONTROL_SEQUENCE, generation->sequence);
	json_string(json, DSFS_CONTROL_SUMS, sum_name(generation->opened.version.shape.chunk_sum));
	json_number(json, DSFS_CONTROL_LOOKUPS, generation_lookups(generation));
	json_number(json, DSFS_CONTROL_INDEX_BYTES, generation->opened.version.index.length);
	json_number(json, DSFS_CONTROL_SUMS_BYTES, block_sums_memory(generation->opened.block_sums));
	json_bool(json, DSFS_CONTROL_IS_CURRENT, current);
	json_end_object(json);
}

static void stats_generations(struct serve *serve, struct json *json)
{
	const struct generation *current = serve_current(serve), *generation;

	json_begin_object(json, DSFS_CONTROL_GENERATION);
	json_number(json, DSFS_CONTROL_SEQUENCE, current->sequence);
	json_number(json, DSFS_CONTROL_LOOKUPS, generation_lookups(current));
	json_end_object(json);
	json_begin_array(json, DSFS_CONTROL_GENERATIONS);
	for (unsigned i = 0; i < GENERATIONS_MAX; i++) {
		generation = atomic_load(&serve->generations.slots[i]);
		if (generation)
			stats_generation(generation, generation == current, json);
	}
	json_end_array(json);
	json_number(json, DSFS_CONTROL_SERVING_SINCE, atomic_load(&serve->history.serving_since));
}

static void stats_signer(struct serve *serve, struct json *json)
{
	const struct trust_signer *signer = &serve_current(serve)->signer;
	char date[STATEMENT_DATE_SIZE] = "";

	if (signer->date)
		statement_date(signer->date, date);
	json_string(json, DSFS_CONTROL_SIGNER, signer->name);
	json_string(json, DSFS_CONTROL_SIGNER_KEY, signer->key);
	json_string(json, DSFS_CONTROL_SIGNED, date);
}

static void stats_program(struct json *json)
{
	char path[PATH_MAX];

	json_string(json, DSFS_CONTROL_PROGRAM, installed_path(path, NULL) == 0 ? path : "");
	json_bool(json, DSFS_CONTROL_PROGRAM_OLD, installed_is_another());
}

static void stats_identity(struct serve *serve, struct json *json)
{
	json_string(json, DSFS_CONTROL_RELEASE, DATASETFS_RELEASE);
	json_number(json, DSFS_CONTROL_PID,
		    (uint64_t)(keep_fd(serve->keep) < 0 ? getpid() : keep_supervisor(serve->keep)));
	json_number(json, DSFS_CONTROL_SERVER_PID, (uint64_t)getpid());
	json_string(json, DSFS_CONTROL_SURVIVES, successor_survives(serve));
	stats_program(json);
	json_real(json, DSFS_CONTROL_UPTIME, (double)(clock_now() - serve->history.started) / 1e9);
	json_real(json, DSFS_CONTROL_CPU, (double)clock_cpu() / 1e9);
	json_string(json, DSFS_CONTROL_CHANNEL, serve->machine.ring ? "ring" : "dev");
	json_string(json, DSFS_CONTROL_IO, serve->machine.uring ? "uring" : "threads");
	json_string(json, DSFS_CONTROL_IO_REASON, serve->machine.io_reason);
	json_number(json, DSFS_CONTROL_WORKERS, serve->worker_count);
	json_number(json, DSFS_CONTROL_BUFFER_BUDGET, serve->machine.buffer_budget);
	json_begin_object(json, DSFS_CONTROL_OPTIONS);
	mount_options_report(&serve->options, json);
	json_end_object(json);
	stats_generations(serve, json);
	stats_signer(serve, json);
}

const char *stats_member_state(const struct serve *serve, uint32_t number, int64_t now)
{
	if (serve_is_missing(serve, number))
		return "missing";
	return route_is_suspect(serve->volume.route, number, now) ? "suspect" : "ok";
}

static void stats_member(const struct serve *serve, uint32_t number, int64_t now, struct json *json)
{
	const struct route_member *member = &serve->volume.route->members[number];

	json_begin_object(json, NULL);
	json_number(json, DSFS_CONTROL_MEMBER, number);
	if (atomic_load(&serve->volume.members[number].name))
		json_string(json, DSFS_CONTROL_MEMBER_NAME, atomic_load(&serve->volume.members[number].name));
	else
		json_null(json, DSFS_CONTROL_MEMBER_NAME);
	json_string(json, DSFS_CONTROL_MEMBER_STATE, stats_member_state(serve, number, now));
	json_number(json, DSFS_CONTROL_MEMBER_READS, atomic_load(&member->reads));
	json_number(json, DSFS_CONTROL_MEMBER_BYTES, atomic_load(&member->bytes));
	json_number(json, DSFS_CONTROL_MEMBER_ERRORS, atomic_load(&member->errors));
	json_number(json, DSFS_CONTROL_MEMBER_IN_FLIGHT, atomic_load(&member->under_way));
	json_real(json, DSFS_CONTROL_MEMBER_LATENCY, (double)route_latency(serve->volume.route, number, now) / 1e9);
	json_end_object(json);
}

/* Writes the state of each member. Empty for a volume of one member, where the counters of all reads say the same. */
static void stats_members(const struct serve *serve, struct json *json)
{
	int64_t now = clock_now();

	json_begin_array(json, DSFS_CONTROL_MEMBERS);
	for (uint32_t i = 0; serve->volume.route && i < serve->volume.route->count; i++)
		stats_member(serve, i, now, json);
	json_end_array(json);
}

static void stats_size(const struct array_source *array, const struct index *index, uint32_t number, struct json *json)
{
	json_begin_object(json, NULL);
	json_number(json, DSFS_CONTROL_MEMBER, number);
	json_number(json, DSFS_CONTROL_SIZE, array_last_size(array, number));
	json_number(json, DSFS_CONTROL_SIZE_OPENED, index->member_sizes[number]);
	json_end_object(json);
}

static void stats_sizes(struct serve *serve, struct json *json)
{
	const struct index *index = serve_current(serve)->opened.index;

	json_begin_array(json, DSFS_CONTROL_SIZES);
	for (uint32_t i = 0; i < index->member_count; i++)
		if (array_has(serve->volume.array, i))
			stats_size(serve->volume.array, index, i, json);
	json_end_array(json);
}

static void stats_outdated(struct serve *serve, struct json *json)
{
	const char *word = stale_word(serve);

	if (word)
		json_string(json, DSFS_CONTROL_OUTDATED, word);
	else
		json_null(json, DSFS_CONTROL_OUTDATED);
}

static void stats_follow(const struct serve *serve, struct json *json)
{
	char why[sizeof(serve->history.follow_failure)];

	if (follow_fails(serve, why, sizeof(why)))
		json_string(json, DSFS_CONTROL_FOLLOW_FAILURE, why);
	else
		json_null(json, DSFS_CONTROL_FOLLOW_FAILURE);
}

void stats_write(struct serve *serve, struct json *json)
{
	json_begin_object(json, NULL);
	stats_identity(serve, json);
	stats_requests(serve, json);
	stats_series(serve, json);
	json_bool(json, DSFS_CONTROL_LOCAL_FOLLOWS, cached_chunks_follows(serve));
	json_real(json, DSFS_CONTROL_WINDOW, series_window(serve, WINDOW_DEMAND));
	json_real(json, DSFS_CONTROL_HELD, (double)series_sum(serve, offsetof(struct counters, read.held_time)) / 1e9);
	json_real(json, DSFS_CONTROL_LONGEST_STALL, watchdog_stalls(serve->watchdog).longest);
	stats_members(serve, json);
	stats_sizes(serve, json);
	stats_outdated(serve, json);
	stats_follow(serve, json);
	json_string(json, DSFS_CONTROL_CLIENT_REASON, clients_reason(serve->clients));
	protection_write(serve, json);
	stats_buckets(serve, json, DSFS_CONTROL_READ_LATENCY, offsetof(struct counters, read_latency.buckets));
	stats_buckets(serve, json, DSFS_CONTROL_DEVICE_LATENCY, offsetof(struct counters, read.device_latency.buckets));
	json_end_object(json);
	fputc('\n', json->out);
}
