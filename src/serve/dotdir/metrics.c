/* SPDX-License-Identifier: MIT */
/* Writes the counters as metric families. Once released, a name keeps its meaning and its labels. */
#include "serve/dotdir/metrics.h"

#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/counter.h"
#include "base/format.h"
#include "base/label.h"
#include "image/block_sums.h"
#include "serve/clients/clients.h"
#include "serve/control/stale.h"
#include "serve/control/watchdog.h"
#include "serve/damage.h"
#include "serve/dotdir/protection.h"
#include "serve/dotdir/stats.h"
#include "serve/worker/counters.h"

/* ---- the format ---- */

/* help: without a backslash, a quote or a newline, which would have to be escaped. */
static void metrics_family(FILE *out, const char *name, const char *type, const char *help)
{
	fprintf(out, "# HELP datasetfs_%s %s\n# TYPE datasetfs_%s %s\n", name, help, name, type);
}

/* A family of one series. */
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

/* ---- what is served ---- */

static void metrics_version(struct serve *serve, FILE *out)
{
	const struct version *version = &atomic_load(&serve->generations.announced)->version;
	char uuid[UUID_TEXT_SIZE], digest[DIGEST_TEXT_SIZE];

	format_uuid(serve->volume_uuid, uuid);
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
		serve->ring ? "ring" : "dev", serve->uring ? "uring" : "threads");
	metrics_real(out, "uptime_seconds", "gauge", "Time since the mount.",
		     (double)(clock_now() - serve->started) / 1e9);
	metrics_real(out, "cpu_seconds_total", "counter", "CPU time of the daemon, user and system.",
		     (double)clock_cpu() / 1e9);
	metrics_number(out, "workers", "gauge", "Threads that serve requests.", serve->worker_count);
	metrics_number(out, "buffer_limit_bytes", "gauge", "Most memory that buffers and caches can take.",
		       serve->buffer_budget);
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
		lookups += atomic_load(&generation->lookups) & ~GENERATION_GONE;
		index_bytes += generation->version.index_length;
		sums_bytes += block_sums_memory(generation->block_sums);
	}
	metrics_number(out, "open_versions", "gauge", "Versions that are open: the served one and those still in use.",
		       count);
	metrics_number(out, "lookups", "gauge", "Names of open versions that the kernel holds.", lookups);
	metrics_number(out, "index_bytes", "gauge", "Memory of the indexes of open versions.", index_bytes);
	metrics_number(out, "block_checksum_bytes", "gauge", "Memory of the block checksums of open versions.",
		       sums_bytes);
}

static void metrics_switches(struct serve *serve, FILE *out)
{
	bool is_announced = serve_current(serve) == atomic_load(&serve->generations.announced);

	metrics_number(out, "switches_total", "counter", "Switches to another version.",
		       atomic_load(&serve->switches));
	metrics_number(out, "version_loads_total", "counter", "Versions loaded, failed attempts included.",
		       atomic_load(&serve->loads));
	metrics_number(out, "switch_pending", "gauge",
		       "1 while a switch is not done yet, or with follow= while the volume's current version cannot be "
		       "told or opened.",
		       !is_announced || atomic_load(&serve->follow_failed));
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
	metrics_number(out, "version_outdated_end_time_seconds", "gauge",
		       "When the mount last left a version that was not on the volume any more, in seconds since 1970; "
		       "0: it never did.", atomic_load(&serve->outdated_until));
}

/* ---- counters ---- */

static void metrics_requests(const struct serve *serve, FILE *out)
{
	/* Reads the ended requests first, so that the difference cannot become negative. */
	uint64_t ended = stats_sum(serve, offsetof(struct counters, ended));
	uint64_t begun = stats_sum(serve, offsetof(struct counters, begun)), n;

	metrics_number(out, "requests_in_flight", "gauge",
		       "Requests that are not answered, or whose memory the device still has.", begun - ended);
	metrics_family(out, "requests_total", "counter", "Requests of the kernel, by FUSE operation.");
	for (uint32_t i = 0; i <= WIRE_OPCODES; i++) {
		n = stats_sum(serve, offsetof(struct counters, requests) + i * sizeof(counter64));
		if (n)
			fprintf(out, "datasetfs_requests_total{operation=\"%s\"} %" PRIu64 "\n", wire_opcode_name(i),
				n);
	}
}

struct metrics_counter {
	const char *name, *help;
	uint64_t (*get)(const struct serve *serve, size_t offset);
	size_t offset;
};

#define METRICS_SUM(FIELD)    stats_sum, offsetof(struct counters, FIELD)
#define METRICS_AHEAD(FIELD)  stats_ahead, offsetof(struct counters, FIELD)
#define METRICS_WISHES(FIELD) stats_wishes, offsetof(struct counters, FIELD)

static const struct metrics_counter metrics_counters[] = {
	{ "request_errors_total", "Replies with an error that is none of a program's ordinary ones.",
	  METRICS_SUM(errors) },
	{ "interrupted_reads_total", "Reads answered early because their process was killed.",
	  METRICS_SUM(interrupted) },
	{ "served_files_total", "Beginnings of files that went to the kernel, by a READ or ahead into the page cache.",
	  METRICS_SUM(files_served) },
	{ "served_bytes_total", "File contents returned to the kernel.", METRICS_SUM(bytes_served) },
	{ "stored_bytes_total", "File contents put into the page cache ahead, for which no READ comes.",
	  METRICS_SUM(bytes_stored) },
	{ "read_failures_total", "Reads answered with EIO, also at the deadline.", METRICS_SUM(read.failures) },
	{ "checksum_failures_total", "Content that did not match its checksum, also if a second read was right.",
	  METRICS_SUM(read.checksum_failures) },
	{ "device_reads_total", "Reads of the volume.", METRICS_SUM(read.device_reads) },
	{ "device_read_bytes_total", "Bytes read from the volume.", METRICS_SUM(read.device_bytes) },
	{ "device_read_errors_total", "Reads of the volume that failed or came back short, retries included.",
	  METRICS_SUM(read.device_errors) },
	{ "device_read_retries_total", "Reads of the volume that were repeated.", METRICS_SUM(read.retries) },
	{ "chunk_cache_hits_total", "Chunks found in the cache of verified chunks.", METRICS_SUM(read.cache_hits) },
	{ "block_checksum_reads_total", "Pages of block checksums read; device_reads_total counts them too.",
	  METRICS_SUM(read.block_sums_reads) },
	{ "block_checksum_hits_total", "Pages of block checksums found in their cache.",
	  METRICS_SUM(read.block_sums_hits) },
	{ "block_checksum_fallbacks_total", "Reads that fell back from block checksums to whole chunks.",
	  METRICS_SUM(read.block_sums_failures) },
	{ "readahead_files_total", "Files read ahead of readers.", METRICS_AHEAD(ahead_files) },
	{ "readahead_bytes_total", "Contents of files read ahead.", METRICS_AHEAD(ahead_bytes) },
	{ "readahead_device_reads_total", "Reads of the volume ahead of readers; device_reads_total counts them too.",
	  METRICS_AHEAD(read.device_reads) },
	{ "readahead_stored_files_total", "Files read ahead that were put into the page cache.",
	  METRICS_AHEAD(ahead_stored) },
	{ "readahead_served_reads_total", "Reads answered with what was read ahead.", METRICS_SUM(ahead_served) },
	{ "readahead_dropped_files_total", "Files read ahead that were kept and nobody asked for.",
	  METRICS_AHEAD(ahead_dropped) },
	{ "readahead_failures_total", "Reads ahead that failed; the files' own reads report what is wrong.",
	  METRICS_AHEAD(ahead_failures) },
	{ "prefetch_announced_files_total", "Files that programs announced and that were taken.",
	  METRICS_SUM(prefetch_announced) },
	{ "prefetch_files_total", "Announced files that were read.", METRICS_WISHES(ahead_files) },
	{ "prefetch_bytes_total", "Contents of announced files that were read.", METRICS_WISHES(ahead_bytes) },
	{ "prefetch_device_reads_total", "Reads of the volume for announced files; device_reads_total counts them too.",
	  METRICS_WISHES(read.device_reads) },
	{ "prefetch_stored_files_total", "Announced files that were put into the page cache.",
	  METRICS_WISHES(ahead_stored) },
	{ "prefetch_served_reads_total", "Reads answered with announced files.", METRICS_SUM(prefetch_served) },
	{ "prefetch_dropped_files_total", "Announced files that were dropped before anybody read them.",
	  METRICS_WISHES(ahead_dropped) },
	{ "prefetch_failures_total", "Reads of announced files that failed; the files' own reads report what is wrong.",
	  METRICS_WISHES(ahead_failures) },
};

static void metrics_last(const struct serve *serve, FILE *out)
{
	metrics_number(out, "last_read_failure_time_seconds", "gauge",
		       "When a read last failed for good, also past the mount, in seconds since 1970; 0: none did.",
		       stats_last_failure(serve));
	metrics_number(out, "last_error_time_seconds", "gauge",
		       "When a read of the volume last failed or a checksum did not match, also past the mount, in "
		       "seconds since 1970; 0: never.",
		       stats_last_error(serve));
}

static void metrics_simple(const struct serve *serve, FILE *out)
{
	const struct metrics_counter *counter;

	for (size_t i = 0; i < sizeof(metrics_counters) / sizeof(*metrics_counters); i++) {
		counter = &metrics_counters[i];
		metrics_number(out, counter->name, "counter", counter->help, counter->get(serve, counter->offset));
	}
}

/* offset: of a struct counter_times. All bounds but the last two are below a second, so none of them is a whole number:
 * the two formats of Prometheus would write a whole number differently. */
static void metrics_histogram(const struct serve *serve, FILE *out, const char *name, const char *help, size_t offset)
{
	uint64_t sum = stats_sum(serve, offset + offsetof(struct counter_times, sum)), total = 0;

	metrics_family(out, name, "histogram", help);
	for (unsigned i = 0; i < COUNTER_BUCKETS; i++) {
		total += stats_sum(serve, offset + offsetof(struct counter_times, buckets) + i * sizeof(counter64));
		if (i < COUNTER_BUCKETS - 1)
			fprintf(out, "datasetfs_%s_bucket{le=\"%.6f\"} %" PRIu64 "\n", name, (double)(1u << i) / 1e6,
				total);
	}
	fprintf(out, "datasetfs_%s_bucket{le=\"+Inf\"} %" PRIu64 "\n", name, total);
	fprintf(out, "datasetfs_%s_sum %" PRIu64 ".%09" PRIu64 "\n", name, sum / 1000000000, sum % 1000000000);
	fprintf(out, "datasetfs_%s_count %" PRIu64 "\n", name, total);
}

static void metrics_stalls(const struct serve *serve, FILE *out)
{
	struct watchdog_stalls stalls = watchdog_stalls(serve->watchdog);

	metrics_number(out, "stall_start_time_seconds", "gauge",
		       "Since when reads have been waiting for the device, in seconds since 1970; 0: none waits.",
		       stalls.since);
	metrics_number(out, "stalls_total", "counter", "Times that reads waited for the device for over a second.",
		       stalls.count);
	metrics_real(out, "longest_stall_seconds", "gauge", "The longest such time.", stalls.longest);
	metrics_number(out, "damaged_places", "gauge", "Places that .datasetfs/damage lists.",
		       damage_count(serve->damage));
}

/* ---- members ---- */

/* Writes a series per member and state, so that a rule can ask for one state. */
static void metrics_member_states(const struct serve *serve, FILE *out)
{
	static const char *const states[] = { "ok", "suspect", "missing" };
	int64_t now = clock_now();
	const char *state;

	metrics_family(out, "member_state", "gauge", "1 for the state that the member of the volume is in.");
	for (uint32_t i = 0; i < serve->route->count; i++) {
		state = stats_member_state(serve, i, now);
		for (size_t k = 0; k < sizeof(states) / sizeof(*states); k++)
			fprintf(out, "datasetfs_member_state{member=\"%" PRIu32 "\",state=\"%s\"} %d\n", i, states[k],
				!strcmp(state, states[k]));
	}
}

static void metrics_member_info(const struct serve *serve, FILE *out)
{
	metrics_family(out, "member_info", "gauge", "By what the member was found; the value is always 1.");
	for (uint32_t i = 0; i < serve->route->count; i++) {
		fprintf(out, "datasetfs_member_info{member=\"%" PRIu32 "\",", i);
		label_write(out, "name", atomic_load(&serve->members[i].name) ?: "");
		fputs("} 1\n", out);
	}
}

static void metrics_member_counter(const struct serve *serve, FILE *out, const char *name, const char *help,
				   size_t offset)
{
	const void *counter;

	metrics_family(out, name, "counter", help);
	for (uint32_t i = 0; i < serve->route->count; i++) {
		counter = (const char *)&serve->route->members[i] + offset;
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
	for (uint32_t i = 0; i < serve->route->count; i++)
		fprintf(out, "datasetfs_member_reads_in_flight{member=\"%" PRIu32 "\"} %" PRIu32 "\n", i,
			atomic_load(&serve->route->members[i].under_way));
	metrics_family(out, "member_latency_seconds", "gauge", "Time that a read of the member takes now.");
	for (uint32_t i = 0; i < serve->route->count; i++) {
		latency = route_latency(serve->route, i, now);
		fprintf(out, "datasetfs_member_latency_seconds{member=\"%" PRIu32 "\"} %.9f\n", i,
			(double)latency / 1e9);
	}
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

/* Skipped for a volume of one member: the counters of all reads say the same. */
static void metrics_members(struct serve *serve, FILE *out)
{
	if (!serve->route)
		return;
	metrics_member_info(serve, out);
	metrics_member_states(serve, out);
	metrics_member_reads(serve, out);
	metrics_protection(serve, out);
}

/* ---- programs that read past the mount ---- */

static void metrics_clients(const struct serve *serve, FILE *out)
{
	static const struct {
		const char *name, *help;
		enum handover_count count;
	} reported[] = {
		{ "client_files_total", "Files that programs read past the mount, as they report it.",
		  HANDOVER_FILES },
		{ "client_bytes_total", "Contents that programs read past the mount, as they report it.",
		  HANDOVER_BYTES },
		{ "client_checksum_failures_total", "Checksum failures that programs met past the mount.",
		  HANDOVER_CHECKSUM_FAILURES },
		{ "client_device_errors_total", "Reads of the volume past the mount that failed.",
		  HANDOVER_DEVICE_ERRORS },
		{ "client_read_failures_total", "Reads past the mount that failed for good.",
		  HANDOVER_READ_FAILURES },
	};
	const struct clients_counters *counters = clients_counters(serve->clients);

	metrics_number(out, "clients", "gauge", "Programs that read past the mount, connected now.",
		       atomic_load(&counters->connected));
	metrics_number(out, "client_versions_opened_total", "counter", "Versions that were handed to such programs.",
		       atomic_load(&counters->opened));
	metrics_number(out, "client_refusals_total", "counter", "Connections of such programs that were refused.",
		       atomic_load(&counters->refused));
	metrics_number(out, "client_drops_total", "counter", "Connections of such programs that broke the rules.",
		       atomic_load(&counters->dropped));
	for (size_t i = 0; i < sizeof(reported) / sizeof(*reported); i++)
		metrics_number(out, reported[i].name, "counter", reported[i].help,
			       atomic_load(&counters->reported[reported[i].count]));
}

void metrics_write(struct serve *serve, FILE *out)
{
	metrics_version(serve, out);
	metrics_daemon(serve, out);
	metrics_open_versions(serve, out);
	metrics_switches(serve, out);
	metrics_outdated(serve, out);
	metrics_requests(serve, out);
	metrics_simple(serve, out);
	metrics_last(serve, out);
	metrics_histogram(serve, out, "read_duration_seconds", "Time from the arrival of a READ to its reply.",
			  offsetof(struct counters, read_latency));
	metrics_histogram(serve, out, "device_read_duration_seconds", "Time that a read of the volume took.",
			  offsetof(struct counters, read.device_latency));
	metrics_stalls(serve, out);
	metrics_members(serve, out);
	metrics_clients(serve, out);
}
