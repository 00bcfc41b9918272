/* SPDX-License-Identifier: MIT */
/* datasetfsctl scrub: reads every row of every group on every member, and repairs wrong copies. */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/program/interrupt.h"
#include "base/text/parse.h"
#include "image/members/address.h"
#include "scrub/files.h"
#include "scrub/findings.h"
#include "scrub/judge.h"
#include "scrub/places.h"
#include "scrub/structures.h"
#include "verb.h"
#include "verify/shard.h"
#include "verify/turns.h"
#include "volume.h"

struct scrub_options {
	struct verb_options common;
	bool repair;
	uint32_t shard, shard_count;
	const char *from;
	uint64_t start; /* device address */
	bool has_start;
	uint64_t jobs;
};

struct scrub {
	struct scrub_options options;
	struct volume *volume;
	struct transaction transaction; /* with --repair */
	struct source *source;
	const struct catalogue *catalogue;
	struct findings findings;
	struct rows rows;
	struct content_map *map;
	uint64_t *chosen;     /* numbers of windows; NULL: all of the share */
	pthread_mutex_t repair_lock;
	struct turns turns;   /* at windows of the share, or indexes into chosen */
};

/* --- command line --- */

static int scrub_set_shard(void *target, const char *argument, struct error *err)
{
	struct scrub_options *options = target;

	return shard_parse(argument, &options->shard, &options->shard_count, err);
}

static int scrub_set_start(void *target, const char *argument, struct error *err)
{
	struct scrub_options *options = target;
	auto_free char *text = strdup(argument);
	char *rest = text, *member = strsep(&rest, ":");
	uint64_t number, offset;

	if (!text)
		return error_no_memory(err);
	if (!rest || parse_u64(member, 0, DSFS_MEMBER_MAX, &number, NULL) < 0 ||
	    parse_u64(rest, 0, (UINT64_C(1) << DSFS_ADDRESS_BITS) - 1, &offset, NULL) < 0)
		return error_set(err, -EINVAL, "'%s', expected MEMBER:OFFSET, as an interrupted run has printed it",
				 argument);
	options->start = address_make((uint32_t)number, offset);
	options->has_start = true;
	return 0;
}

static const struct option_spec scrub_table[] = {
	{ "repair", 0, NULL, OPTION_TRUE(struct scrub_options, repair), "make damaged copies right again" },
	{ "shard", 0, "N/T", OPTION_CALL(scrub_set_shard), "only the N-th of T shares of the rows" },
	{ "start", 0, "MEMBER:OFFSET", OPTION_CALL(scrub_set_start), "go on where an interrupted run stopped" },
	{ "from", 0, "FILE", OPTION_TEXT(struct scrub_options, from, NULL),
	  "only rows with places that FILE, a mount's .datasetfs/damage, lists" },
	{ "jobs", 'j', "N", OPTION_NUMBER(struct scrub_options, jobs, 1, TURNS_JOBS_MAX),
	  "read with N threads (default one for each CPU, from 4 to 32)" },
	VERB_OPTION_MAX_BANDWIDTH,
	VERB_OPTION_JSON,
	{ 0 },
};

const struct command_line scrub_line = {
	.program = "datasetfsctl scrub",
	.usage = "VOLUME",
	.operands = { 1, 1 },
	.summary = "Read and compare all copies, repair damage.\n"
		   "Reads every row of every group on all members, also bytes that no version uses,\n"
		   "and compares the copies. Where they differ, sums say which is right.\n"
		   "Exit status: 0 clean, or all that was damaged is repaired; 1 something is damaged;\n"
		   "2 something could not be checked.",
	.options = scrub_table,
};

/* --- rows --- */

static uint64_t scrub_window(const struct scrub *scrub, uint64_t number)
{
	return scrub->chosen ? scrub->chosen[number] : number;
}

/* Takes the next window and begins it. False: nothing is left, a signal came, or a thread has failed. */
static bool scrub_take(struct scrub *scrub, struct judge *judge, uint64_t *ret_number)
{
	struct turns *turns = &scrub->turns;
	bool is_taken = turns_begin(turns);

	if (is_taken) {
		const struct rows_window window = rows_window(&scrub->rows, scrub_window(scrub, turns->next));

		*ret_number = turns->next;
		is_taken = judge_ask(judge, &window, &turns->err) == 0;
	}
	if (turns_show(turns))
		findings_progress(&scrub->findings);
	turns_end(turns, is_taken);
	return is_taken;
}

static void scrub_work(void *argument)
{
	struct scrub *scrub = argument;
	const struct judge_setup setup = { .lock = &scrub->repair_lock,
					   .source = scrub->source,
					   .catalogue = scrub->catalogue,
					   .map = scrub->map,
					   .findings = &scrub->findings,
					   .repair = scrub->options.repair };
	uint64_t number = UINT64_MAX; /* of the last window; none */
	struct judge *judge = NULL;
	struct error err = { 0 };
	int r = judge_new(&setup, &judge, &err);

	while (r == 0 && scrub_take(scrub, judge, &number))
		r = judge_window(judge, &err);
	if (r < 0)
		turns_fail(&scrub->turns, number, &err);
	judge_free(judge);
}

/* Chooses the windows of this run. */
static int scrub_choose(struct scrub *scrub, struct error *err)
{
	const struct scrub_options *options = &scrub->options;
	const struct members *members = &scrub->catalogue->members;
	uint64_t count, start;
	int r = rows_open(scrub->catalogue, source_size(scrub->source, 0), &scrub->rows, err);

	count = scrub->rows.windows;
	if (r == 0 && options->from)
		r = places_read(options->from, &scrub->rows, members, &scrub->chosen, &count, err);
	if (r < 0)
		return r;
	scrub->turns.next = count / options->shard_count * options->shard +
			    count % options->shard_count * options->shard / options->shard_count;
	scrub->turns.end = count / options->shard_count * (options->shard + 1) +
			   count % options->shard_count * (options->shard + 1) / options->shard_count;
	if (!options->has_start)
		return 0;
	start = rows_find(&scrub->rows, members, options->start);
	if (start == scrub->rows.windows)
		return error_set(err, -EINVAL, "--start %" PRIu32 ":%" PRIu64 " is in no row of the volume",
				 address_member(options->start), address_offset(options->start));
	while (scrub->turns.next < scrub->turns.end && scrub_window(scrub, scrub->turns.next) < start)
		scrub->turns.next++;
	return 0;
}

static uint64_t scrub_bytes(const struct scrub *scrub)
{
	uint64_t bytes = 0;

	for (uint64_t i = scrub->turns.next; i < scrub->turns.end; i++)
		bytes += rows_window(&scrub->rows, scrub_window(scrub, i)).length;
	return bytes;
}

/* --- the volume --- */

/* Reports sections that no combination of copies makes right. */
static void scrub_problems(struct scrub *scrub)
{
	for (uint32_t i = 0; i < scrub->catalogue->version_count; i++) {
		const struct error *why = content_map_problem(scrub->map, i);

		if (why)
			findings_add(&scrub->findings,
				     &(struct finding){ .state = error_is_damage(why->code) ? FINDING_LOST :
											      FINDING_UNKNOWN,
							.what = "version",
							.version = scrub->catalogue->versions[i].label,
							.reason = why->reason });
	}
}

static int scrub_structures(struct scrub *scrub, struct error *err)
{
	uint32_t count = scrub->volume->array->count;
	int r = 0;

	if (scrub->options.repair)
		return structures_repair(&scrub->transaction, &scrub->findings, err);
	volume_set_patience(scrub->volume, FILE_WAITS);
	for (uint32_t i = 0; r == 0 && i < count; i++) {
		if (scrub->volume->names[i])
			r = structures_check(scrub->source, i, count == 1, &scrub->findings, err);
		else
			structures_missing(i, &scrub->findings);
	}
	volume_set_patience(scrub->volume, 0);
	return r;
}

/* Returns whether the catalogue changed meanwhile: a publisher may have reused the space of a removed version. */
static bool scrub_has_changed(const struct scrub *scrub)
{
	struct catalogue catalogue = { 0 };
	struct superblock super;
	bool has_changed;

	if (scrub->options.repair)
		return false;
	if (catalogue_load(scrub->source, NULL, &super, &catalogue, NULL) < 0)
		return true;
	has_changed = super.sequence != scrub->volume->super.sequence;
	catalogue_free(&catalogue);
	return has_changed;
}

/* Runs all steps. Completes every part of the output, even after a failure: an interrupted run reports its findings. */
static int scrub_all(struct scrub *scrub, struct error *err)
{
	int r = scrub_structures(scrub, err);

	if (r == 0)
		r = scrub_choose(scrub, err);
	if (r == 0)
		r = content_map_open(scrub->source, scrub->catalogue, 0, &scrub->map, err);
	if (r == 0)
		scrub_problems(scrub);
	findings_begin_places(&scrub->findings, scrub_bytes(scrub));
	if (r == 0)
		r = turns_share(&scrub->turns, (unsigned)scrub->options.jobs, scrub_work, scrub, err);
	findings_begin_files(&scrub->findings);
	if (r == 0)
		r = files_find(scrub->source, scrub->catalogue, &scrub->findings, err);
	return r;
}

static int scrub_end(struct scrub *scrub, bool interrupted)
{
	struct findings_summary summary = { .rows = &scrub->rows,
					    .members = scrub->volume->array->count,
					    .repair = scrub->options.repair,
					    .interrupted = interrupted,
					    .has_next = interrupted && scrub->turns.next < scrub->turns.end };

	if (summary.has_next)
		summary.next = rows_window(&scrub->rows, scrub_window(scrub, scrub->turns.next)).address;
	summary.changed = scrub_has_changed(scrub);
	return findings_end(&scrub->findings, &summary);
}

static void scrub_close(struct scrub *scrub)
{
	content_map_close(scrub->map);
	rows_close(&scrub->rows);
	free(scrub->chosen);
	transaction_close(&scrub->transaction);
	pthread_mutex_destroy(&scrub->repair_lock);
	volume_close(scrub->volume);
}

/* Opens the volume; with --repair locks it as a whole. A volume of one member has no copies to repair from. Members may
 * be missing as long as every byte is there: nothing new is written, so the history of the volume cannot fork. */
static int scrub_open(struct scrub *scrub, const char *name, struct error *err)
{
	const uint64_t bandwidth = scrub->options.common.max_bandwidth;
	int r = volume_open(name, &scrub->volume, err);

	if (r == 0)
		r = volume_load(scrub->volume, err);
	if (r == 0)
		r = volume_pace(scrub->volume->array, bandwidth, err);
	if (r < 0)
		return r;
	scrub->options.repair = scrub->options.repair && scrub->volume->catalogue.members.count;
	scrub->source = &scrub->volume->array->source;
	scrub->catalogue = &scrub->volume->catalogue;
	if (!scrub->options.repair) {
		interrupt_install();
		return 0;
	}
	r = volume_transaction(scrub->volume, DEGRADED_REPAIR, &scrub->transaction, err);
	scrub->source = scrub->transaction.source;
	scrub->catalogue = &scrub->transaction.catalogue;
	return r < 0 ? r : volume_pace(scrub->transaction.array, bandwidth, err);
}

int scrub_run(int argc, char **argv)
{
	struct scrub scrub = { .options = { .shard_count = 1, .jobs = turns_default_jobs() },
			       .repair_lock = PTHREAD_MUTEX_INITIALIZER };
	struct error err = { 0 };
	int operands, status = VERIFY_INCOMPLETE, r;

	if (!verb_parse(&scrub_line, argc, argv, &scrub.options, &operands, &status))
		return status;
	r = scrub_open(&scrub, argv[1], &err);
	if (r == 0) {
		findings_begin(&scrub.findings, scrub.volume->path, scrub.options.repair, scrub.options.common.json);
		r = scrub_all(&scrub, &err);
		/* a log line says why it failed; the JSON object is complete all the same */
		if (r == 0 || r == -EINTR || scrub.options.common.json)
			status = scrub_end(&scrub, r < 0);
	}
	if (r < 0 && r != -EINTR) {
		log_error(&err, "cannot scrub '%s'", argv[1]);
		status = VERIFY_INCOMPLETE;
	}
	scrub_close(&scrub);
	return status;
}
