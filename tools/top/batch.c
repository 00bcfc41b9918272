/* SPDX-License-Identifier: MIT */
/* Prints samples; datasetfsctl(8) describes the fields. */
#include "top/batch.h"

#include <math.h>

#include "base/text/json.h"
#include "base/text/shown.h"
#include "status/health.h"

static void batch_real(struct json *json, const char *key, double n)
{
	if (isnan(n))
		json_null(json, key);
	else
		json_real(json, key, n);
}

/* Prints latencies in ms: in seconds, nanoseconds would need more than six decimals. */
static void batch_latency(const struct rates *rates, struct json *json)
{
	static const char *const names[RATES_PERCENTILES] = { "p50", "p90", "p99", "p99.9" };

	json_begin_object(json, "read_latency_ms");
	for (size_t i = 0; i < RATES_PERCENTILES; i++)
		batch_real(json, names[i], rates->latency[i] * 1e3);
	json_end_object(json);
}

static void batch_rates(const struct rates *rates, struct json *json)
{
	json_begin_object(json, "rates");
	json_real(json, "seconds", rates->seconds);
	json_number(json, "files", rates->files);
	json_number(json, "bytes", rates->bytes);
	json_number(json, "device_reads", rates->reads);
	json_number(json, "held_reads", rates->held);
	json_number(json, "local_cache_hits", rates->local);
	json_number(json, "device_bytes", rates->device_bytes);
	json_number(json, "read_failures", rates->errors);
	json_number(json, "stalls", rates->stalls);
	batch_real(json, "cpu_seconds", rates->cpu);
	batch_real(json, "files_per_second", rates->files_per_second);
	batch_real(json, "bytes_per_second", rates->bytes_per_second);
	batch_real(json, "device_bytes_per_second", rates->device_bytes_per_second);
	batch_real(json, "device_reads_per_file", rates->reads_per_file);
	batch_real(json, "cpu_us_per_file", rates->cpu_per_file * 1e6);
	batch_latency(rates, json);
	json_end_object(json);
}

static void batch_troubles(const struct watch_mount *mount, int64_t now, struct json *json)
{
	struct health_trouble trouble;

	json_begin_array(json, "trouble");
	if (mount->state > WATCH_ANSWERS)
		json_string(json, NULL, mount->reason);
	for (size_t i = 0;
	     mount->state == WATCH_ANSWERS && health_trouble(&mount->stats, mount->mounted.point, now, i, &trouble);
	     i++)
		json_string(json, NULL, trouble.text);
	json_end_array(json);
}

/* Prints all that is counted for a mount that the kernel serves. */
static void batch_kernel(const struct watch_mount *mount, struct json *json)
{
	json_number(json, "sequence", mount->stats.sequence);
	json_number(json, "serving_since", mount->stats.serving_since);
	json_number(json, "switches", mount->stats.switches);
	json_number(json, "in_flight", mount->stats.in_flight);
	json_number(json, "members", mount->stats.members);
	if (!mount->has_rates)
		return;
	json_begin_object(json, "rates");
	json_real(json, "seconds", mount->rates.seconds);
	json_number(json, "device_reads", mount->rates.reads);
	json_number(json, "device_bytes", mount->rates.device_bytes);
	batch_real(json, "device_bytes_per_second", mount->rates.device_bytes_per_second);
	json_end_object(json);
}

static void batch_stats(const struct reported_stats *stats, struct json *json)
{
	json_string(json, "version", stats->label);
	json_number(json, "sequence", stats->sequence);
	json_number(json, "serving_since", stats->serving_since);
	json_number(json, "switches", stats->switches);
	json_number(json, "in_flight", stats->in_flight);
	json_number(json, "stalled_since", stats->stalled_since);
	json_number(json, "stalls", stats->stalls);
	json_number(json, "members", stats->members);
	json_number(json, "members_suspect", stats->suspect);
	json_number(json, "members_missing", stats->missing);
	json_number(json, "clients", stats->clients);
}

static void batch_mount(const struct watch_mount *mount, int64_t now, struct json *json)
{
	json_begin_object(json, NULL);
	json_string(json, "mount", mount->mounted.point);
	json_string(json, "source", mount->mounted.source);
	json_string(json, "state", table_state(mount, now));
	batch_troubles(mount, now, json);
	if (mount->mounted.label)
		json_string(json, "version", mount->mounted.label);
	if (mount->has_stats && mount->state == WATCH_KERNEL)
		batch_kernel(mount, json);
	else if (mount->has_stats)
		batch_stats(&mount->stats, json);
	if (mount->has_rates && mount->state != WATCH_KERNEL)
		batch_rates(&mount->rates, json);
	else if (!mount->has_rates)
		json_null(json, "rates");
	json_end_object(json);
}

void batch_json(struct watch *watch, const struct page_query *query, FILE *out)
{
	struct json json = { .out = out };

	json_begin_object(&json, NULL);
	json_number(&json, "time", (uint64_t)query->now);
	json_number(&json, "interval", query->interval);
	json_begin_array(&json, "mounts");
	for (size_t i = 0; i < watch->count; i++)
		batch_mount(watch->mounts[i], query->now, &json);
	json_end_array(&json);
	json_end_object(&json);
	fputc('\n', out);
}

void batch_text(const struct page *page, FILE *out)
{
	for (size_t i = 0; i < page->count; i++)
		shown_print(out, "%s\n", page->lines[i].text);
	fputc('\n', out);
}
