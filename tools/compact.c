/* SPDX-License-Identifier: MIT */
/* datasetfsctl compact: empties segments that are mostly dead, so that the next publish can use them. For 'member
 * rebalance': segments that others have too few of. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/text/format.h"
#include "base/text/json.h"
#include "compact.h"
#include "served.h"
#include "text.h"
#include "volume.h"
#include "volume/compaction/compaction.h"
#include "volume/transaction/room.h"

#define COMPACT_REMEDY "use --force, and switch to the same version afterwards"
#define COMPACT_GIVING "compact without --give-back and switch, or use --force"

struct compact_result {
	struct compaction compaction;
	struct served served;
	bool gave_back;
	uint64_t given_bytes;
};

static const struct option_spec compact_table[] = {
	{ "below", 0, "PERCENT", OPTION_NUMBER(struct compact_options, below, 1, 100),
	  "empty segments less than PERCENT alive (default 50)" },
	{ "give-back", 0, NULL, OPTION_TRUE(struct compact_options, give_back),
	  "return the free space of a file to its filesystem" },
	{ "dry-run", 'n', NULL, OPTION_TRUE(struct compact_options, dry_run), "show what would be done" },
	VERB_OPTION_FORCE,
	VERB_OPTION_DEGRADED,
	VERB_OPTION_MAX_BANDWIDTH,
	VERB_OPTION_JSON,
	{ 0 },
};

const struct command_line compact_line = {
	.program = "datasetfsctl compact",
	.usage = "VOLUME",
	.operands = { 1, 1 },
	.summary = "Empty segments that are mostly dead.\n"
		   "Copies their live data to free space. A version whose chunks move keeps its label,\n"
		   "UUID and digest, but mounts of it should switch, and get EIO once the freed space is used\n"
		   "again. Those of this machine that do not follow are named, and hold the command up; those\n"
		   "of other hosts are not known.",
	.options = compact_table,
};

static bool compact_has_file(const struct transaction *transaction)
{
	for (uint32_t i = 0; i < transaction->member_count; i++)
		if (transaction->members[i].file && !transaction->members[i].file->geometry.is_block_device)
			return true;
	return false;
}

/* Refuses to give space back while a superblock slot is damaged: holes are permanent, and the slot may come back and
 * refer to content that only it knows. */
static int compact_check_give_back(const struct transaction *transaction, struct error *err)
{
	struct error stale = { 0 };

	if (!compact_has_file(transaction))
		return error_set(err, -EINVAL, "--give-back is for volumes in files");
	if (superblock_may_be_stale(&transaction->super, &stale))
		return error_set(err, -EBADMSG,
				 "--give-back would punch holes into what superblock slot %" PRIu64
				 " refers to: compact without it, or publish first",
				 (transaction->super.sequence + 1) % DSFS_SLOT_COUNT);
	return 0;
}

struct compact_question {
	const struct compact_options *options;
	const struct catalogue *catalogue;
	struct served *served;
};

/* Refuses if mounts would lose the version that they serve. Mounts that follow switch to the moved one by themselves,
 * unless the old space is given back before they can. */
static int compact_consent(void *argument, const struct compaction *foreseen, struct error *err)
{
	const struct compact_question *question = argument;
	const struct compact_options *options = question->options;

	for (uint32_t i = 0; i < foreseen->version_count; i++)
		if (foreseen->versions[i].sequence != foreseen->versions[i].former)
			served_concern(question->served, foreseen->versions[i].former, options->give_back);
	if (options->give_back)
		served_concern_gone(question->served, question->catalogue);
	return served_refuse(question->served, options->common.force || options->dry_run,
			     options->give_back ? COMPACT_GIVING : COMPACT_REMEDY, err);
}

static int compact_run_asking(const struct volume *volume, const struct compact_options *options,
			      struct transaction *transaction, struct compact_result *ret, struct error *err)
{
	struct compact_question question = { options, &transaction->catalogue, &ret->served };
	const struct compaction_args args = {
		.below = (unsigned)options->below,
		.levels = options->levels,
		.dry_run = options->dry_run,
		.consent = compact_consent,
		.argument = &question,
	};
	int r = served_open(volume, transaction->super.volume_uuid, &ret->served, err);

	return r < 0 ? r : compaction_run(transaction, &args, &ret->compaction, err);
}

static int compact_volume(const struct volume *volume, const struct compact_options *options,
			  struct compact_result *ret, struct error *err)
{
	struct error why = { 0 };
	struct transaction transaction;
	int r;

	r = volume_transaction(volume, options->common.degraded, &transaction, err);
	if (r < 0)
		return r;
	r = volume_pace(transaction.array, options->common.max_bandwidth, err);
	if (r == 0 && options->levels && !transaction.catalogue.members.count)
		r = error_set(err, -EINVAL, "the volume is a single file or device: it has no members");
	if (r == 0 && options->give_back)
		r = compact_check_give_back(&transaction, err);
	if (r == 0)
		r = compact_run_asking(volume, options, &transaction, ret, err);
	if (r == 0 && options->give_back && !options->dry_run) {
		ret->gave_back = room_give_back(&transaction, &ret->given_bytes, &why) == 0;
		if (!ret->gave_back)
			log_error(&why, "free space of '%s' stays in the file, ignoring", volume->path);
	}
	transaction_close(&transaction);
	return r;
}

/* --- output --- */

static void compact_json(const struct volume *volume, const struct compact_options *options,
			 const struct compact_result *result)
{
	const struct compaction *compaction = &result->compaction;
	struct json json = { .out = stdout };

	json_begin_object(&json, NULL);
	json_string(&json, "volume", volume->path);
	json_bool(&json, "dry_run", options->dry_run);
	if (!options->levels)
		json_number(&json, "below_percent", options->below);
	json_number(&json, "segments", compaction->segments);
	json_number(&json, "moved_bytes", compaction->moved_bytes);
	json_number(&json, "index_bytes", compaction->index_bytes);
	json_number(&json, "dead_bytes", compaction->dead_bytes);
	json_number(&json, "freed_bytes", compaction->freed_bytes);
	if (!options->levels)
		json_number(&json, "given_back_bytes", result->given_bytes);
	json_begin_array(&json, "versions");
	for (uint32_t i = 0; i < compaction->version_count; i++) {
		json_begin_object(&json, NULL);
		json_string(&json, "label", compaction->versions[i].label);
		json_number(&json, "former_sequence", compaction->versions[i].former);
		json_number(&json, "sequence", compaction->versions[i].sequence);
		json_end_object(&json);
	}
	json_end_array(&json);
	served_json(&result->served, &json);
	json_end_object(&json);
	putchar('\n');
}

static void compact_text(const struct volume *volume, const struct compact_options *options,
			 const struct compact_result *result)
{
	const struct compaction *compaction = &result->compaction;
	char moved[SIZE_TEXT_SIZE], index[SIZE_TEXT_SIZE], dead[SIZE_TEXT_SIZE], given[SIZE_TEXT_SIZE];

	if (!compaction->segments)
		text_print("'%s': %s\n", volume->path, options->levels ? "every member has its share" :
								       "no segment is worth emptying");
	else
		text_print("'%s': %" PRIu64 " segments %s: %s in them %s dead, %s %s moved, %s of indexes written\n",
			   volume->path, compaction->segments, options->dry_run ? "would be emptied" : "emptied",
			   format_size(compaction->dead_bytes, dead), options->dry_run ? "are" : "were",
			   format_size(compaction->moved_bytes, moved), options->dry_run ? "would be" : "were",
			   format_size(compaction->index_bytes, index));
	if (compaction->segments && !options->dry_run)
		printf(volume->array->count > 1 ? "the members have %s more free than before\n" :
							 "the next publish can use %s more than before\n",
		       format_size(compaction->freed_bytes, given));
	for (uint32_t i = 0; i < compaction->version_count; i++)
		if (compaction->versions[i].sequence != compaction->versions[i].former)
			text_print("version '%s' %s sequence %" PRIu64 ", it was %" PRIu64 "\n",
				   compaction->versions[i].label, options->dry_run ? "would get" : "has",
				   compaction->versions[i].sequence, compaction->versions[i].former);
	if (result->gave_back)
		printf("%s of free space went back to the filesystem\n", format_size(result->given_bytes, given));
}

static bool compact_concerns_mounts(const struct compaction *compaction)
{
	for (uint32_t i = 0; i < compaction->version_count; i++)
		if (compaction->versions[i].sequence != compaction->versions[i].former)
			return true;
	return false;
}

int compact_main(const struct command_line *line, struct compact_options options, int argc, char **argv)
{
	auto_volume struct volume *volume = NULL;
	struct compact_result result = { 0 };
	struct error err = { 0 };
	int operands, status, r;

	if (!verb_parse(line, argc, argv, &options, &operands, &status))
		return status;
	r = volume_open(argv[1], &volume, &err);
	if (r == 0)
		r = compact_volume(volume, &options, &result, &err);
	if (r == 0) {
		(options.common.json ? compact_json : compact_text)(volume, &options, &result);
		if (!options.dry_run && compact_concerns_mounts(&result.compaction))
			served_warn(&result.served, NULL, 0);
	}
	served_close(&result.served);
	free(result.compaction.versions);
	if (r < 0) {
		log_error(&err, "cannot %s '%s'", options.levels ? "rebalance" : "compact", argv[1]);
		return verb_failed();
	}
	return VERB_DONE;
}

int compact_run(int argc, char **argv)
{
	return compact_main(&compact_line, (struct compact_options){ .below = COMPACTION_BELOW }, argc, argv);
}
