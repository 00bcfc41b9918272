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
	bool gave_back, has_left;
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
		.kind = options->kind,
		.member = options->member,
		.dry_run = options->dry_run,
		.consent = compact_consent,
		.argument = &question,
	};
	int r = served_open(volume, transaction->super.volume_uuid, &ret->served, err);

	return r < 0 ? r : compaction_run(transaction, &args, &ret->compaction, err);
}

static int compact_begin(const struct volume *volume, const struct compact_options *options, struct transaction *ret,
			 struct error *err)
{
	int r;

	if (options->kind != COMPACTION_DRAIN)
		return volume_transaction(volume, options->common.degraded, ret, err);
	r = volume_begin(volume, TRANSACTION_ALL_STAY, false, ret, err);
	if (r < 0)
		return r;
	ret->degraded = options->common.degraded;
	transaction_drain(ret, options->member);
	r = transaction_check(ret, err);
	if (r < 0)
		transaction_close(ret);
	return r;
}

/* Checks that as many members stay as have copies of the same bytes. */
static int compact_check_members(const struct members *members, const struct compact_options *options,
				 struct error *err)
{
	uint32_t stay = members_remaining(members) - !members_has_left(members, options->member), copies = 1;

	if (!members->count && options->kind != COMPACTION_DEAD)
		return error_set(err, -EINVAL, "the volume is a single file or device: it has no members");
	for (uint32_t i = 0; i < members->group_count; i++)
		if (1u + members->groups[i].redundant > copies)
			copies = 1u + members->groups[i].redundant;
	if (options->kind != COMPACTION_DRAIN || stay >= copies)
		return 0;
	return error_set(err, -EINVAL, "%" PRIu32 " member%s would stay, and the content has up to %" PRIu32 " cop%s",
			 stay, stay == 1 ? "" : "s", copies, copies == 1 ? "y" : "ies");
}

/* Lets the member leave that was drained. */
static int compact_retire(const struct compact_options *options, struct transaction *transaction,
			  struct compact_result *ret, struct error *err)
{
	int r = 0;

	if (options->kind != COMPACTION_DRAIN || options->dry_run || ret->compaction.segments)
		return 0;
	ret->has_left = true;
	if (members_has_left(&transaction->catalogue.members, options->member))
		return 0;
	r = transaction_begin(transaction, err);
	if (r == 0)
		r = transaction_retire(transaction, options->member, err);
	return r < 0 ? r : transaction_commit(transaction, err);
}

static int compact_pass(const struct volume *volume, const struct compact_options *options,
			struct compact_result *ret, struct error *err)
{
	struct error why = { 0 };
	struct transaction transaction;
	int r;

	r = compact_begin(volume, options, &transaction, err);
	if (r < 0)
		return r;
	r = volume_pace(transaction.array, options->common.max_bandwidth, err);
	if (r == 0)
		r = compact_check_members(&transaction.catalogue.members, options, err);
	if (r == 0 && options->give_back)
		r = compact_check_give_back(&transaction, err);
	if (r == 0)
		r = compact_run_asking(volume, options, &transaction, ret, err);
	if (r == 0)
		r = compact_retire(options, &transaction, ret, err);
	if (r == 0 && options->give_back && !options->dry_run) {
		ret->gave_back = room_give_back(&transaction, &ret->given_bytes, &why) == 0;
		if (!ret->gave_back)
			log_error(&why, "free space of '%s' stays in the file, ignoring", volume->path);
	}
	transaction_close(&transaction);
	return r;
}

static void compact_free(struct compact_result *result)
{
	served_close(&result->served);
	free(result->compaction.versions);
	*result = (struct compact_result){ 0 };
}

/* Adds a pass to the result, which has the versions as the last one that moved any left them. */
static void compact_add(struct compact_result *result, struct compact_result *pass)
{
	struct compaction *sum = &result->compaction;

	pass->compaction.segments += sum->segments;
	pass->compaction.moved_bytes += sum->moved_bytes;
	pass->compaction.index_bytes += sum->index_bytes;
	pass->compaction.dead_bytes += sum->dead_bytes;
	pass->compaction.freed_bytes += sum->freed_bytes;
	if (!pass->compaction.version_count) {
		free(pass->compaction.versions);
		pass->compaction.versions = take_ptr(&sum->versions);
		pass->compaction.version_count = sum->version_count;
	}
	compact_free(result);
	*result = *pass;
}

/* A member is drained in as many passes as there is room for, each of which is in force at its end. */
static int compact_volume(const struct volume *volume, const struct compact_options *options,
			  struct compact_result *ret, struct error *err)
{
	int r;

	do {
		struct compact_result pass = { 0 };

		r = compact_pass(volume, options, &pass, err);
		compact_add(ret, &pass);
	} while (r == 0 && options->kind == COMPACTION_DRAIN && !options->dry_run && !ret->has_left);
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
	if (options->kind == COMPACTION_DEAD)
		json_number(&json, "below_percent", options->below);
	json_number(&json, "segments", compaction->segments);
	json_number(&json, "moved_bytes", compaction->moved_bytes);
	json_number(&json, "index_bytes", compaction->index_bytes);
	json_number(&json, "dead_bytes", compaction->dead_bytes);
	json_number(&json, "freed_bytes", compaction->freed_bytes);
	if (options->kind == COMPACTION_DEAD)
		json_number(&json, "given_back_bytes", result->given_bytes);
	if (options->kind == COMPACTION_DRAIN)
		json_bool(&json, "left", result->has_left);
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
	static const char *const nothing[] = { "no segment is worth emptying", "every member has its share",
					       "nothing lies on the member" };
	const struct compaction *compaction = &result->compaction;
	char moved[SIZE_TEXT_SIZE], index[SIZE_TEXT_SIZE], dead[SIZE_TEXT_SIZE], given[SIZE_TEXT_SIZE];

	if (!compaction->segments)
		text_print("'%s': %s\n", volume->path, nothing[options->kind]);
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
	if (result->has_left)
		text_print("member %" PRIu32 " has left '%s'\n", options->member, volume->path);
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

static int compact_fail(const char *name, const struct compact_options *options, const struct error *why)
{
	static const char *const verbs[] = { "compact", "rebalance", "drain a member of" };

	log_error(why, "cannot %s '%s'", verbs[options->kind], name);
	return verb_failed();
}

int compact_carry_out(const struct volume *volume, const char *name, const struct compact_options *options)
{
	struct compact_result result = { 0 };
	struct error err = { 0 };
	int r = compact_volume(volume, options, &result, &err);

	if (r == 0) {
		(options->common.json ? compact_json : compact_text)(volume, options, &result);
		if (!options->dry_run && compact_concerns_mounts(&result.compaction))
			served_warn(&result.served, NULL, 0);
	}
	compact_free(&result);
	return r < 0 ? compact_fail(name, options, &err) : VERB_DONE;
}

int compact_main(const struct command_line *line, struct compact_options options, int argc, char **argv)
{
	auto_volume struct volume *volume = NULL;
	struct error err = { 0 };
	int operands, status;

	if (!verb_parse(line, argc, argv, &options, &operands, &status))
		return status;
	if (volume_open(argv[1], &volume, &err) < 0)
		return compact_fail(argv[1], &options, &err);
	return compact_carry_out(volume, argv[1], &options);
}

int compact_run(int argc, char **argv)
{
	return compact_main(&compact_line, (struct compact_options){ .below = COMPACTION_BELOW }, argc, argv);
}
