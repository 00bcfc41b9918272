/* SPDX-License-Identifier: MIT */
/* datasetfsctl status: prints a page about one mount, problems first, or its whole report as JSON. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/text/format.h"
#include "base/text/json.h"
#include "grid.h"
#include "mounts/mounted.h"
#include "mounts/percentile.h"
#include "mounts/probe.h"
#include "mounts/reported.h"
#include "status/by_kernel.h"
#include "status/fabric.h"
#include "status/health.h"
#include "text.h"
#include "verb.h"

#define STATUS_PATIENCE 10 /* seconds to wait for an answer of the daemon */
#define STATUS_LOOK     2  /* seconds to wait for the volume */
#define STATUS_LEAVE    INT64_C(1000000000) /* ns to wait until the probe lets go of a mount that answers */

static const struct option_spec status_table[] = { VERB_OPTION_JSON, { 0 } };

const struct command_line status_line = {
	.program = "datasetfsctl status",
	.usage = "MNT",
	.operands = { 1, 1 },
	.summary = "Show what a mount serves, and what is wrong.",
	.options = status_table,
};

static void status_say(const char *label, const char *fmt, ...) printf_like(2, 3);
static void status_say(const char *label, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	text_print("  %-16s  %s\n", label, text); /* the mount reports the names of its options */
}

/* --- the verdict --- */

/* Prints problems, or that there are none, and the version. This is from the mount's report: the mount table keeps the
 * version that was mounted, even after a switch. */
static void status_verdict(const struct mounted *mounted, const struct reported *reported,
			   const struct reported_stats *stats)
{
	const char *volume = reported_text(reported, DSFS_CONTROL_VOLUME);
	char earlier[HEALTH_TEXT_SIZE] = "";
	struct health_trouble trouble;
	size_t count = 0;

	for (; health_trouble(stats, mounted->point, time(NULL), count, &trouble); count++)
		text_print("%s: %s\n", trouble.word, trouble.text);
	if (!count)
		printf("healthy%s%s: ", health_earlier(stats, time(NULL), earlier) ? "; " : "", earlier);
	putchar('\'');
	text_write(stdout, mounted->point, strlen(mounted->point));
	printf("' serves version '");
	text_write(stdout, stats->label, strlen(stats->label));
	printf("' of '");
	text_write(stdout, volume, strlen(volume));
	printf("'\n");
}

/* --- the version --- */

static void status_fabric(const struct reported *reported)
{
	struct error err = { 0 };
	struct fabric fabric;
	char hidden[64] = "";

	if (fabric_count(reported, &fabric, &err) < 0)
		status_say("network", "not known: %s", err.reason);
	else if (fabric.hidden)
		snprintf(hidden, sizeof(hidden), " (%zu known to root)", fabric.hidden);
	if (!err.code && fabric.paths)
		status_say("network", "%zu path%s, %zu authenticated%s, %zu encrypted (TLS)", fabric.paths,
			   format_plural(fabric.paths), fabric.authenticated, hidden, fabric.encrypted);
}

static void status_old_versions(const struct reported *reported)
{
	uint64_t lookups;
	const char *label;

	for (size_t i = 0; reported_old_version(reported, i, &label, &lookups); i++)
		status_say("also open", "version '%s', %" PRIu64 " name%s in use", label, lookups,
			   format_plural(lookups));
}

static void status_signer(const struct reported *reported)
{
	if (*reported_text(reported, DSFS_CONTROL_SIGNER_KEY))
		status_say("signed by", "%s, with the key %s, dated %s",
			   reported_text(reported, DSFS_CONTROL_SIGNER),
			   reported_text(reported, DSFS_CONTROL_SIGNER_KEY),
			   reported_text(reported, DSFS_CONTROL_SIGNED));
	else
		status_say("signed by", "unknown, as the mount has no trust=");
}

static void status_at_rest(const struct reported_stats *stats)
{
	if (stats->crypt_members && stats->crypt_members < stats->members)
		status_say("at rest", "crypt, %" PRIu64 " of %" PRIu32 " members", stats->crypt_members,
			   stats->members);
	else if (stats->crypt_members)
		status_say("at rest", "crypt");
}

static void status_version(const struct reported *reported, const struct reported_stats *stats)
{
	char size[SIZE_TEXT_SIZE], when[TEXT_TIME_SIZE], span[TEXT_SPAN_SIZE];

	printf("\nversion\n");
	status_say("label", "%s, sequence %" PRIu64, stats->label, stats->sequence);
	if (stats->serving_since)
		status_say("served", "for %s, since %s UTC, after %" PRIu64 " switch%s",
			   text_span(difftime(time(NULL), (time_t)stats->serving_since), span),
			   text_time((int64_t)stats->serving_since, when), stats->switches,
			   stats->switches == 1 ? "" : "es");
	status_say("content", "%" PRIu64 " file%s, %s", stats->files, format_plural(stats->files),
		   format_size(stats->bytes, size));
	status_say("digest", "%s", reported_text(reported, DSFS_CONTROL_DIGEST));
	status_say("sums", "%s", reported_text(reported, DSFS_CONTROL_SUMS));
	status_signer(reported);
	status_say("volume", "%s", reported_text(reported, DSFS_CONTROL_VOLUME));
	status_say("volume UUID", "%s", reported_text(reported, DSFS_CONTROL_VOLUME_UUID));
	status_fabric(reported);
	status_at_rest(stats);
	if (stats->is_protected)
		status_say("protection", "%u %% has copies, %u %% has one copy left", stats->protected_percent,
			   stats->one_copy_percent);
	status_old_versions(reported);
}

/* --- the daemon --- */

static const char *status_survives(const char *word)
{
	if (!strcmp(word, "requests"))
		return "another one goes on and no request fails";
	if (!strcmp(word, "mount"))
		return "another one goes on; requests under way may fail with ECONNABORTED";
	return "the mount ends";
}

static void status_daemon(const struct mounted *mounted, const struct reported *reported,
			  const struct reported_stats *stats)
{
	const char *reason = reported_text(reported, DSFS_CONTROL_IO_REASON);
	char span[TEXT_SPAN_SIZE], size[SIZE_TEXT_SIZE];

	printf("\ndaemon\n");
	status_say("process", "%" PRIu64 ", release %s, up for %s", stats->pid,
		   reported_text(reported, DSFS_CONTROL_RELEASE), text_span(stats->uptime, span));
	if (stats->server_pid != stats->pid)
		status_say("served by", "process %" PRIu64 ", after %" PRIu64 " other%s", stats->server_pid,
			   stats->restarts, format_plural(stats->restarts));
	if (stats->program_is_old)
		status_say("program", "an older one than is installed: 'datasetfsctl upgrade %s'", mounted->point);
	status_say("if it dies", "%s", status_survives(reported_text(reported, DSFS_CONTROL_SURVIVES)));
	status_say("requests by", "%s, %" PRIu64 " worker%s, buffers up to %s",
		   reported_text(reported, DSFS_CONTROL_CHANNEL), stats->workers, format_plural(stats->workers),
		   format_size(stats->buffer_budget, size));
	status_say("device reads by", "%s%s%s", reported_text(reported, DSFS_CONTROL_IO), *reason ? ", as " : "",
		   reason);
	status_say("CPU time", "%.2f s", stats->cpu);
}

/* --- since the mount --- */

static void status_latency(const char *label, const uint64_t *buckets)
{
	if (isnan(percentile_of(buckets, 0.5)))
		status_say(label, "none yet");
	else
		status_say(label, "50 %% below %.3f ms, 90 %% below %.3f ms, 99 %% below %.3f ms, all below %.3f ms",
			   percentile_of(buckets, 0.5) * 1e3, percentile_of(buckets, 0.9) * 1e3,
			   percentile_of(buckets, 0.99) * 1e3, percentile_of(buckets, 1) * 1e3);
}

static bool status_wants_cache(const struct reported *reported)
{
	struct reported_field cache;

	return reported_option_by_name(reported, "cache", &cache) && *cache.value;
}

static void status_local(const struct reported *reported, const struct reported_stats *stats)
{
	char bytes[SIZE_TEXT_SIZE], used[SIZE_TEXT_SIZE], size[SIZE_TEXT_SIZE];

	if (!stats->local_size && status_wants_cache(reported))
		status_say("local cache", "keeps no contents, the daemon's log says why");
	if (stats->local_size)
		status_say("local cache", "%" PRIu64 " read%s, %s; %s of %s used, %" PRIu64 " error%s",
			   stats->local_hits, format_plural(stats->local_hits), format_size(stats->local_bytes, bytes),
			   format_size(stats->local_used, used), format_size(stats->local_size, size),
			   stats->local_errors, format_plural(stats->local_errors));
}

/* Prints counts of files read through the mount; programs that read past it have a line of their own. */
static void status_served(const struct reported *reported, const struct reported_stats *stats)
{
	char served[SIZE_TEXT_SIZE], device[SIZE_TEXT_SIZE], each[64] = "";
	double files = (double)stats->files_served;

	status_say("files read", "%" PRIu64 ", %s", stats->files_served,
		   format_size(stats->bytes_served + stats->bytes_stored, served));
	if (stats->files_served)
		snprintf(each, sizeof(each), ", %.2f for each file", (double)stats->device_reads / files);
	status_say("device reads", "%" PRIu64 ", %s%s", stats->device_reads, format_size(stats->device_bytes, device),
		   each);
	status_local(reported, stats);
	if (stats->files_served)
		status_say("CPU time", "%.1f us for each file", stats->cpu / files * 1e6);
	status_latency("READ latency", stats->read_latency);
	status_latency("device latency", stats->device_latency);
}

static void status_trouble(const struct reported_stats *stats)
{
	char span[TEXT_SPAN_SIZE];

	if (stats->stalls)
		status_say("stalls", "%" PRIu64 ", the longest for %s", stats->stalls,
			   text_span(stats->longest_stall, span));
	else
		status_say("stalls", "none");
	status_say("errors", "%" PRIu64 " read%s failed for good, %" PRIu64 " device read%s failed, %" PRIu64
		   " sum%s did not match", stats->read_failures, format_plural(stats->read_failures),
		   stats->device_errors, format_plural(stats->device_errors), stats->checksum_failures,
		   format_plural(stats->checksum_failures));
}

static void status_past(const struct reported *reported, const struct reported_stats *stats)
{
	const char *reason = reported_text(reported, DSFS_CONTROL_CLIENT_REASON);
	char size[SIZE_TEXT_SIZE];

	if (*reason)
		status_say("past the mount", "no program can read, as there is no socket: %s", reason);
	else
		status_say("past the mount", "%" PRIu64 " program%s now; %" PRIu64 " file%s, %s", stats->clients,
			   format_plural(stats->clients), stats->client_files, format_plural(stats->client_files),
			   format_size(stats->client_bytes, size));
}

static void status_since_mount(const struct reported *reported, const struct reported_stats *stats)
{
	printf("\nsince the mount\n");
	status_served(reported, stats);
	status_trouble(stats);
	status_say("read ahead", "%" PRIu64 " file%s of walks, %" PRIu64 " that programs announced", stats->ahead_files,
		   format_plural(stats->ahead_files), stats->prefetch_files);
	status_past(reported, stats);
	status_say("requests", "%" PRIu64 ", %" PRIu64 " in flight, %" PRIu64 " answered with an error",
		   stats->requests, stats->in_flight, stats->errors);
}

/* --- members and options --- */

static void status_member(struct grid *grid, const struct reported_member *member)
{
	char size[SIZE_TEXT_SIZE];

	grid_cell(grid, "%" PRIu64, member->number);
	grid_cell(grid, "%s", member->state);
	grid_cell(grid, "%" PRIu64, member->reads);
	grid_cell(grid, "%s", format_size(member->bytes, size));
	grid_cell(grid, "%" PRIu64, member->errors);
	grid_cell(grid, "%" PRIu64, member->in_flight);
	grid_cell(grid, "%.3f", member->latency * 1e3);
	grid_cell(grid, "%s", member->name);
}

static int status_members(const struct reported *reported, struct error *err)
{
	auto_grid struct grid *grid = NULL;
	struct reported_member member;
	int r;

	if (!reported_member(reported, 0, &member))
		return 0;
	r = grid_new(&grid, err);
	if (r < 0)
		return r;
	grid_columns(grid, GRID_RIGHT, "member");
	grid_columns(grid, GRID_LEFT, "state");
	grid_columns(grid, GRID_RIGHT, "reads", "content", "errors", "in flight", "latency ms");
	grid_columns(grid, GRID_LEFT, "name");
	for (size_t i = 0; reported_member(reported, i, &member); i++)
		status_member(grid, &member);
	putchar('\n');
	return grid_print(grid, 2, err);
}

/* How the number of an option is shown; other numbers are seconds. */
static const struct status_unit {
	const char *name;
	bool is_size;
	const char *after; /* the number or size */
	const char *none;  /* instead of 0 */
} status_units[] = {
	{ "workers", false, "", "one for each CPU" },
	{ "readahead", true, "", "off" },
	{ "prefetch", true, "", "off" },
	{ "max_iops", false, " reads/s", "off" },
	{ "max_bandwidth", true, "/s", "off" },
	{ "cache_size", true, "", "all but a tenth of the filesystem" },
};

static const struct status_unit *status_unit(const char *name)
{
	static const struct status_unit seconds = { "", false, " s", "off" };

	for (size_t i = 0; i < sizeof(status_units) / sizeof(*status_units); i++)
		if (!strcmp(name, status_units[i].name))
			return &status_units[i];
	return &seconds;
}

static void status_number(const char *name, uint64_t number)
{
	const struct status_unit *unit = status_unit(name);
	char size[SIZE_TEXT_SIZE];

	if (!number)
		status_say(name, "%s", unit->none);
	else if (unit->is_size)
		status_say(name, "%s%s", format_size(number, size), unit->after);
	else
		status_say(name, "%" PRIu64 "%s", number, unit->after);
}

/* A mount without a cache has no size of one either. */
static bool status_is_moot(const struct reported *reported, const struct reported_field *option)
{
	return !strcmp(option->name, "cache_size") && !option->number && !status_wants_cache(reported);
}

static void status_options(const struct reported *reported)
{
	struct reported_field option;

	for (size_t i = 0; reported_option(reported, i, &option); i++) {
		if (i == 0)
			printf("\nmount options\n");
		if (status_is_moot(reported, &option))
			status_say(option.name, "off");
		else if (option.is_number)
			status_number(option.name, option.number);
		else
			status_say(option.name, "%s", *option.value ? option.value : "-");
	}
}

static int status_page(const struct mounted *mounted, const struct reported *reported, struct error *err)
{
	struct reported_stats stats;
	int r;

	reported_take(reported, &stats);
	status_verdict(mounted, reported, &stats);
	status_version(reported, &stats);
	status_since_mount(reported, &stats);
	r = status_members(reported, err);
	if (r < 0)
		return r;
	status_daemon(mounted, reported, &stats);
	status_options(reported);
	return 0;
}

/* --- asking the daemon --- */

struct status_args {
	const char *path;
	struct mounted above;
};

/* Finds the innermost mount that contains the path, comparing the names as text. */
static int status_match(void *argument, const struct mounted *mounted, struct error *err)
{
	struct status_args *args = argument;
	size_t length = strlen(mounted->point);

	if (strncmp(mounted->point, args->path, length) != 0 || (args->path[length] && args->path[length] != '/') ||
	    (args->above.point && strlen(args->above.point) > length))
		return 0;
	mounted_free(&args->above);
	return mounted_copy(mounted, &args->above, err);
}

static bool status_has_answer(struct probe *probe, int seconds)
{
	struct pollfd answer = { .fd = probe_fd(probe), .events = POLLIN };

	return poll(&answer, 1, seconds * 1000) != 0;
}

/* Makes the daemon read the catalogue, because the version may just have been removed; not if reads wait already. */
static void status_look(struct probe *probe)
{
	struct probe_answer found;

	if (probe_take(probe, &found, NULL) <= 0 || found.code < 0 || found.stats.stalled_since || found.stats.suspect)
		return;
	probe_ask_anew(probe);
	(void)status_has_answer(probe, STATUS_LOOK);
}

/* Checks only that the daemon answers at all; if the answer is an error, the caller's own request reports it. */
static int status_ask(const char *mount, struct error *err)
{
	struct probe *probe;
	int r = probe_start(mount, &probe, err);

	if (r < 0)
		return r;
	probe_ask(probe);
	if (status_has_answer(probe, STATUS_PATIENCE))
		status_look(probe);
	else
		r = error_set(err, -ETIMEDOUT, "its daemon has not answered for %d s: if it hangs, %s %s', then mount "
			      "again", STATUS_PATIENCE,
			      geteuid() == 0 ? "'umount --force" : "kill it and 'fusermount3 -u", mount);
	probe_stop(probe, r == 0 ? clock_now() + STATUS_LEAVE : 0);
	return r;
}

/* Lets a child process ask first: a process that waits for a hanging daemon cannot be killed. */
static int status_check_answer(const char *name, struct error *err)
{
	auto_free char *path = NULL;
	struct status_args args = { 0 };
	int r = mounted_absolute(name, &path, err);

	if (r < 0)
		return r;
	args.path = path;
	r = mounted_each(status_match, &args, err);
	if (r == 0 && !args.above.label)
		r = status_ask(args.above.point ? args.above.point : path, err);
	mounted_free(&args.above);
	return r;
}

static int status_show_mount(const struct mounted *mounted, bool json, struct error *err)
{
	cleanup(reported_close_ptr) struct reported *reported = NULL;
	auto_free char *text = NULL;
	int r;

	if (mounted->label) {
		json ? by_kernel_json(mounted) : by_kernel_print(mounted);
		return 0;
	}
	r = reported_open(mounted->point, &reported, err);
	if (r < 0)
		return r;
	if (!json)
		return status_page(mounted, reported, err);
	r = reported_json(reported, mounted->point, mounted->source, &text, err);
	if (r == 0) {
		json_copy(stdout, text);
		putchar('\n');
	}
	return r;
}

int status_run(int argc, char **argv)
{
	struct verb_options options = { 0 };
	struct mounted mounted = { 0 };
	struct error err = { 0 };
	int operands, status, r;

	if (!verb_parse(&status_line, argc, argv, &options, &operands, &status))
		return status;
	r = status_check_answer(argv[1], &err);
	if (r == 0)
		r = mounted_at(argv[1], AT_STATX_FORCE_SYNC, &mounted, &err);
	if (r == 0)
		r = status_show_mount(&mounted, options.json, &err);
	mounted_free(&mounted);
	if (r < 0) {
		log_error(&err, "cannot show the status of '%s'", argv[1]);
		return VERB_FAILED;
	}
	return VERB_DONE;
}
