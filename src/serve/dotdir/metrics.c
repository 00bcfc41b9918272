/* SPDX-License-Identifier: MIT */
/* Writes the counters as metric families. Once released, a name keeps its meaning and its labels. */
#include "serve/dotdir/metrics.h"

#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/text/format.h"
#include "base/text/label.h"
#include "base/thread/counter.h"
#include "image/catalogue/block_sums.h"
#include "serve/control/follow.h"
#include "serve/control/stale.h"
#include "serve/dotdir/protection.h"
#include "serve/dotdir/series.h"
#include "serve/dotdir/stats.h"
#include "serve/health/watchdog.h"
#include "serve/worker/counters.h"

/* ---- the format ---- */

/* Begins a family. help: as in struct series. */
static void metrics_family(FILE *out, const char *name, const char *type, const char *help)
{
	fprintf(out, "# HELP datasetfs_%s %s\n# TYPE datasetfs_%s %s\n", name, help, name, type);
}

/* Writes a family that has one series. */
static void metrics_number(FILE *out, const char *name, const char *type, const char *help, uint64_t value)
{
	metrics_family(out, name, type, help);
	fprintf(out, "datasetfs_%s %" PRIu64 "\n", name, value);
}

static void metrics_real(FILE *out, const char *name, const char *type, const char *help, double value)
{
	metrics_family(out, name, type, help);
	fprintf(out, "datasetfs_%s %.6f\n", name, value);
}

/* ---- the served version ---- */

static void metrics_version(struct serve *serve, FILE *out)
{
	const struct version *version = &atomic_load(&serve->generations.announced)->opened.version;
	char uuid[UUID_TEXT_SIZE], digest[DIGEST_TEXT_SIZE];

	format_uuid(serve->volume.uuid, uuid);
	format_digest(version->digest, digest);
	metrics_family(out, "version_info", "gauge", "The version that the mount serves; the value is always 1.");
	fputs("datasetfs_version_info{", out);
	label_write(out, "version", version->label);
	fprintf(out, ",digest=\"%s\",sequence=\"%" PRIu64 "\",volume_uuid=\"%s\",", digest, version->sequence, uuid);
	label_write(out, "volume", serve->options.volume);
	fputs("} 1\n", out);
	metrics_number(out, "version_files", "gauge", "Regular files of the version.", version->file_count);
	metrics_number(out, "version_bytes", "gauge", "Sum of their sizes.", version->content_bytes);
}

static void metrics_daemon(const struct serve *serve, FILE *out)
{
	metrics_family(out, "daemon_info", "gauge", "The daemon of the mount; the value is always 1.");
	fprintf(out, "datasetfs_daemon_info{release=\"%s\",channel=\"%s\",io=\"%s\"} 1\n", DATASETFS_RELEASE,
		serve->machine.ring ? "ring" : "dev", serve->machine.uring ? "uring" : "threads");
	metrics_real(out, "uptime_seconds", "gauge", "Time since the mount.",
		     (double)(clock_now() - serve->history.started) / 1e9);
	metrics_real(out, "cpu_seconds_total", "counter", "CPU time of the daemon, user and system.",
		     (double)clock_cpu() / 1e9);
	metrics_number(out, "workers", "gauge", "Threads that serve requests.", serve->worker_count);
	metrics_number(out, "buffer_limit_bytes", "gauge", "Most memory that buffers and caches can take.",
		       serve->machine.buffer_budget);
}

static void metrics_open_versions(struct serve *serve, FILE *out)
{
	uint64_t count = 0, lookups = 0, index_bytes = 0, sums_bytes = 0;
	const struct generation *generation;

	for (unsigned i = 0; i < GENERATIONS_MAX; i++) {
		generation = atomic_load(&serve->generations.slots[i]);
		if (!generation)
			continue;
		count++;
		lookups += generation_lookups(generation);
		index_bytes += generation->opened.version.index.length;
		sums_bytes += block_sums_memory(generation->opened.block_sums);
	}
	metrics_number(out, "open_versions", "gauge", "Versions that are open: the served one and those still in use.",
		       count);
	metrics_number(out, "lookups", "gauge", "Names of open versions that the kernel holds.", lookups);
	metrics_number(out, "index_bytes", "gauge", "Memory of the indexes of open versions.", index_bytes);
	metrics_number(out, "block_checksum_bytes", "gauge", "Memory of the block checksums of open versions.",
		       sums_bytes);
}

static void metrics_switch_pending(struct serve *serve, FILE *out)
{
	bool is_announced = serve_current(serve) == atomic_load(&serve->generations.announced);

	metrics_number(out, "switch_pending", "gauge",
		       "1 while a switch is not done yet, or with follow= while the volume's current version cannot be "
		       "told or opened.",
		       !is_announced || follow_fails(serve, NULL, 0));
}

/* Writes a series for each reason, so that a rule can say what to do. */
static void metrics_outdated(struct serve *serve, FILE *out)
{
	static const char *const reasons[] = { "removed", "moved", "reformatted" };
	const char *word = stale_word(serve);

	metrics_family(out, "version_outdated", "gauge",
		       "1 for the reason why the version is not on the volume any more.");
	for (size_t i = 0; i < sizeof(reasons) / sizeof(*reasons); i++)
		fprintf(out, "datasetfs_version_outdated{reason=\"%s\"} %d\n", reasons[i],
			word && !strcmp(word, reasons[i]));
}

/* ---- counters ---- */

static void metrics_requests(const struct serve *serve, FILE *out)
{
	uint64_t n;

	metrics_family(out, "requests_total", "counter", "Requests of the kernel, by FUSE operation.");
	for (uint32_t i = 0; i <= WIRE_OPCODES; i++) {
		n = series_sum(serve, offsetof(struct counters, requests) + i * sizeof(counter64));
		if (n)
			fprintf(out, "datasetfs_requests_total{operation=\"%s\"} %" PRIu64 "\n", wire_opcode_name(i),
				n);
	}
}

static void metrics_series(const struct serve *serve, FILE *out)
{
	for (const struct series *series = series_list; series->key; series++)
		metrics_number(out, series->family, series->type, series->help, series->get(serve, series->offset));
}

/* offset: place of a struct counter_times in struct counters. */
static void metrics_histogram(const struct serve *serve, FILE *out, const char *name, const char *help, size_t offset)
{
	uint64_t sum = series_sum(serve, offset + offsetof(struct counter_times, sum)), total = 0;

	metrics_family(out, name, "histogram", help);
	for (unsigned i = 0; i < COUNTER_BUCKETS; i++) {
		total += series_sum(serve, offset + offsetof(struct counter_times, buckets) + i * sizeof(counter64));
		if (i < COUNTER_BUCKETS - 1)
			fprintf(out, "datasetfs_%s_bucket{le=\"%.6f\"} %" PRIu64 "\n", name, (double)(1u << i) / 1e6,
				total);
	}
	fprintf(out, "datasetfs_%s_bucket{le=\"+Inf\"} %" PRIu64 "\n", name, total);
	fprintf(out, "datasetfs_%s_sum %" PRIu64 ".%09" PRIu64 "\n", name, sum / 1000000000, sum % 1000000000);
	fprintf(out, "datasetfs_%s_count %" PRIu64 "\n", name, total);
}

/* ---- the window ---- */

static const char *const metrics_classes[WINDOW_CLASSES] = { "demand", "ahead", "background" };

/* Only a mount that can be warmed reads in the background. */
static unsigned metrics_class_count(const struct serve *serve)
{
	return serve->warmer ? WINDOW_CLASSES : WINDOW_BACKGROUND;
}

static void metrics_window(const struct serve *serve, FILE *out)
{
	const struct window *window = serve->volume.window;

	metrics_family(out, "window_reads_total", "counter", "Reads of the volume that began, by their urgency.");
	for (unsigned i = 0; window && i < metrics_class_count(serve); i++)
		fprintf(out, "datasetfs_window_reads_total{class=\"%s\"} %" PRIu64 "\n", metrics_classes[i],
			series_window_reads(serve, i));
	metrics_family(out, "window_size", "gauge",
		       "How many reads of the volume may be under way when one of this urgency begins; 0: no limit.");
	for (unsigned i = 0; window && i < metrics_class_count(serve); i++)
		fprintf(out, "datasetfs_window_size{class=\"%s\"} %.3f\n", metrics_classes[i], series_window(serve, i));
	metrics_real(out, "window_held_seconds_total", "counter", "How long reads of the volume waited for others.",
		     (double)series_sum(serve, offsetof(struct counters, read.held_time)) / 1e9);
}

/* ---- members ---- */

/* Writes a series per member and state, so that a rule can ask for one state. */
static void metrics_member_states(const struct serve *serve, FILE *out)
{
	static const char *const states[] = { "ok", "suspect", "missing" };
	int64_t now = clock_now();
	const char *state;

	metrics_family(out, "member_state", "gauge", "1 for the state that the member of the volume is in.");
	for (uint32_t i = 0; i < serve->volume.route->count; i++) {
		state = stats_member_state(serve, i, now);
		for (size_t k = 0; k < sizeof(states) / sizeof(*states); k++)
			fprintf(out, "datasetfs_member_state{member=\"%" PRIu32 "\",state=\"%s\"} %d\n", i, states[k],
				!strcmp(state, states[k]));
	}
}

static void metrics_member_info(const struct serve *serve, FILE *out)
{
	metrics_family(out, "member_info", "gauge", "By what the member was found; the value is always 1.");
	for (uint32_t i = 0; i < serve->volume.route->count; i++) {
		fprintf(out, "datasetfs_member_info{member=\"%" PRIu32 "\",", i);
		label_write(out, "name", atomic_load(&serve->volume.members[i].name) ?: "");
		fputs("} 1\n", out);
	}
}

static void metrics_member_counter(const struct serve *serve, FILE *out, const char *name, const char *help,
				   size_t offset)
{
	const void *counter;

	metrics_family(out, name, "counter", help);
	for (uint32_t i = 0; i < serve->volume.route->count; i++) {
		counter = (const char *)&serve->volume.route->members[i] + offset;
		fprintf(out, "datasetfs_%s{member=\"%" PRIu32 "\"} %" PRIu64 "\n", name, i,
			atomic_load((const _Atomic uint64_t *)counter));
	}
}

static void metrics_member_reads(const struct serve *serve, FILE *out)
{
	int64_t now = clock_now(), latency;

	metrics_member_counter(serve, out, "member_reads_total", "Reads of the member that ended.",
			       offsetof(struct route_member, reads));
	metrics_member_counter(serve, out, "member_read_bytes_total", "Bytes read from the member.",
			       offsetof(struct route_member, bytes));
	metrics_member_counter(serve, out, "member_read_errors_total", "Reads of the member that failed.",
			       offsetof(struct route_member, errors));
	metrics_family(out, "member_reads_in_flight", "gauge", "Reads of the member under way.");
	for (uint32_t i = 0; i < serve->volume.route->count; i++)
		fprintf(out, "datasetfs_member_reads_in_flight{member=\"%" PRIu32 "\"} %" PRIu32 "\n", i,
			atomic_load(&serve->volume.route->members[i].under_way));
	metrics_family(out, "member_latency_seconds", "gauge", "Time that a read of the member takes now.");
	for (uint32_t i = 0; i < serve->volume.route->count; i++) {
		latency = route_latency(serve->volume.route, i, now);
		fprintf(out, "datasetfs_member_latency_seconds{member=\"%" PRIu32 "\"} %.9f\n", i,
			(double)latency / 1e9);
	}
}

static void metrics_member_times(const struct window_member *member, uint32_t number, unsigned class, FILE *out)
{
	const char *name = "datasetfs_member_read_duration_seconds";
	uint64_t total = 0;

	for (unsigned i = 0; i < WINDOW_TIMES; i++) {
		total += atomic_load(&member->times[class][i]);
		fprintf(out, "%s_bucket{member=\"%" PRIu32 "\",class=\"%s\",le=\"", name, number,
			metrics_classes[class]);
		if (i < WINDOW_TIMES - 1)
			fprintf(out, "%.6f\"} %" PRIu64 "\n", (double)(1u << i) / 1e6, total);
		else
			fprintf(out, "+Inf\"} %" PRIu64 "\n", total);
	}
	fprintf(out, "%s_sum{member=\"%" PRIu32 "\",class=\"%s\"} %.9f\n", name, number, metrics_classes[class],
		(double)atomic_load(&member->sums[class]) / 1e9);
	fprintf(out, "%s_count{member=\"%" PRIu32 "\",class=\"%s\"} %" PRIu64 "\n", name, number,
		metrics_classes[class], total);
}

static void metrics_member_durations(const struct serve *serve, FILE *out)
{
	const struct window *window = serve->volume.window;

	metrics_family(out, "member_read_duration_seconds", "histogram",
		       "Time that a read of the member took, by its urgency.");
	for (uint32_t i = 0; window && i < window->count; i++)
		for (unsigned class = 0; class < metrics_class_count(serve); class++)
			metrics_member_times(&window->members[i], i, class, out);
}

static void metrics_protection(struct serve *serve, FILE *out)
{
	struct protection_report report;

	if (!protection_look(serve, &report))
		return;
	metrics_real(out, "protected_ratio", "gauge", "Share of the served version that was given copies.",
		     (double)report.protected_percent / 100);
	metrics_real(out, "one_copy_ratio", "gauge", "Share of the served version that has one copy left.",
		     (double)report.single_percent / 100);
	metrics_number(out, "degraded", "gauge", "1 while members of the volume are missing.", report.is_degraded);
}

/* Writes both sizes of each member, so that a rule can compare them. */
static void metrics_sizes(struct serve *serve, FILE *out)
{
	const struct array_source *array = serve->volume.array;
	const struct index *index = serve_current(serve)->opened.index;

	metrics_family(out, "volume_size_bytes", "gauge", "Bytes of the member when the daemon last looked.");
	for (uint32_t i = 0; i < index->member_count; i++)
		if (array_has(array, i))
			fprintf(out, "datasetfs_volume_size_bytes{member=\"%" PRIu32 "\"} %" PRIu64 "\n", i,
				array_last_size(array, i));
	metrics_family(out, "volume_size_opened_bytes", "gauge",
		       "Bytes that the member had to have when the served version was opened.");
	for (uint32_t i = 0; i < index->member_count; i++)
		if (array_has(array, i))
			fprintf(out, "datasetfs_volume_size_opened_bytes{member=\"%" PRIu32 "\"} %" PRIu64 "\n", i,
				index->member_sizes[i]);
}

/* Skipped for a volume of one member: the counters of all reads say the same. */
static void metrics_members(struct serve *serve, FILE *out)
{
	if (!serve->volume.route)
		return;
	metrics_member_info(serve, out);
	metrics_member_states(serve, out);
	metrics_member_reads(serve, out);
	metrics_member_durations(serve, out);
	metrics_protection(serve, out);
}

void metrics_write(struct serve *serve, FILE *out)
{
	metrics_version(serve, out);
	metrics_daemon(serve, out);
	metrics_open_versions(serve, out);
	metrics_switch_pending(serve, out);
	metrics_outdated(serve, out);
	metrics_requests(serve, out);
	metrics_series(serve, out);
	metrics_histogram(serve, out, "read_duration_seconds", "Time from the arrival of a READ to its reply.",
			  offsetof(struct counters, read_latency));
	metrics_histogram(serve, out, "device_read_duration_seconds", "Time that a read of the volume took.",
			  offsetof(struct counters, read.device_latency));
	metrics_real(out, "longest_stall_seconds", "gauge", "The longest time that reads waited for the device.",
		     watchdog_stalls(serve->watchdog).longest);
	metrics_window(serve, out);
	metrics_sizes(serve, out);
	metrics_members(serve, out);
}
