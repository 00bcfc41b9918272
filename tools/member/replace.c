/* SPDX-License-Identifier: MIT */
/* datasetfsctl member replace: puts another file or device in the place of a member, or takes the member itself back
 * after it was missing. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/text/format.h"
#include "base/text/json.h"
#include "device/locate.h"
#include "member/member.h"
#include "member/newcomer.h"
#include "text.h"
#include "volume/replacement/replacement.h"

struct replace_options {
	struct verb_options common;
	struct newcomer_options newcomer;
	bool dry_run;
	enum progress_kind progress;
};

static const struct option_spec replace_table[] = {
	{ "dry-run", 'n', NULL, OPTION_TRUE(struct replace_options, dry_run), "show what would be copied" },
	{ "force", 0, NULL, OPTION_TRUE(struct replace_options, newcomer.force),
	  "replace something else that lies on NEW" },
	{ "preempt", 0, NULL, OPTION_TRUE(struct replace_options, newcomer.preempt),
	  "NVMe: take the reservation of a lost publisher" },
	{ "progress", 0, "KIND", OPTION_WORD(struct replace_options, progress, "auto", "bar", "plain", "json", "none"),
	  "auto (default), bar, plain, json or none" },
	VERB_OPTION_MAX_BANDWIDTH,
	VERB_OPTION_JSON,
	{ 0 },
};

const struct command_line member_replace_line = {
	.program = "datasetfsctl member replace",
	.usage = "VOLUME OLD NEW",
	.operands = { 3, 3 },
	.summary = "Put NEW in the place of the member OLD.\n"
		   "OLD is a number, a UUID, an identity or a path; it may be missing. NEW is an empty device, a\n"
		   "file that is made, or OLD itself, which was away. What it lacks is copied from other members;\n"
		   "the volume is as it was until all of it is there. The same command goes on after a crash.",
	.options = replace_table,
};

/* The result, which is reported at the end. */
struct replace_result {
	struct replacement replacement;
	uint32_t incomplete; /* groups */
	uint64_t single_bytes; /* bytes in these groups that have only one copy */
	bool is_itself, is_resumed;
};

static int replace_check_lost(const struct replacement *replacement, struct error *err)
{
	char lost[SIZE_TEXT_SIZE];

	if (!replacement->lost_bytes)
		return 0;
	return error_set(err, -ENODATA,
			 "member %" PRIu32 " has %s (%" PRIu64 " bytes), of %" PRIu32 " versions, that nobody else "
			 "has: bring stale members back first, or give these versions up",
			 replacement->number, format_size(replacement->lost_bytes, lost), replacement->lost_bytes,
			 replacement->lost_versions);
}

static int replace_copy(struct replacement *replacement, struct newcomer *newcomer,
			const struct replace_options *options, struct error *err)
{
	enum progress_kind kind = options->progress;
	int r;

	if (kind == PROGRESS_AUTO && !isatty(STDERR_FILENO))
		kind = PROGRESS_NONE;
	r = progress_open(kind, &replacement->progress, err);
	if (r == 0)
		r = replacement_copy(replacement, newcomer->member.file, err);
	progress_close(take_ptr(&replacement->progress));
	return r;
}

/* Handles a member that lacks nothing: clears the record of an earlier run that was interrupted before it did so. */
static int replace_nothing(struct replacement *replacement, bool dry_run, struct error *err)
{
	struct file_source *file = replacement->transaction->members[replacement->number].file;
	const struct members *members = &replacement->transaction->catalogue.members;
	struct replacement_record record;
	uint32_t groups;

	memcpy(replacement->uuid, members->list[replacement->number].uuid, sizeof(replacement->uuid));
	replacement->used_bytes = replacement->kept_bytes = member_used(members, replacement->number, &groups);
	return !dry_run && replacement_record_read(file, &record) ? replacement_record_clear(file, err) : 0;
}

/* Puts the new member, which has everything now, into the catalogue, then clears the record. */
static int replace_put_in_force(struct replacement *replacement, struct newcomer *newcomer, struct error *err)
{
	struct transaction *transaction = replacement->transaction;
	struct superblock *super = &newcomer->member.super;
	struct file_source *file = newcomer->member.file;
	char identity[TOPOLOGY_IDENTITY_SIZE], domain[TOPOLOGY_DOMAIN_SIZE];
	struct superblock own = *super;
	struct error why = { 0 };
	int r;

	*super = transaction->super;
	super->member = replacement->number;
	super->catalogue_address = newcomer->is_itself ? own.catalogue_address : 0;
	super->catalogue_length = newcomer->is_itself ? own.catalogue_length : 0;
	memcpy(super->member_uuid, replacement->uuid, sizeof(super->member_uuid));
	r = locate_identity(file->fd, identity, err);
	if (r == 0)
		r = locate_domain(file->fd, domain, err);
	if (r < 0)
		return r;
	r = transaction_replace(transaction, replacement->number, &newcomer->member, err);
	newcomer->member = (struct transaction_member){ 0 }; /* the transaction owns it now */
	if (r == 0) {
		transaction_set_identity(transaction, replacement->number, identity, domain);
		r = transaction_commit(transaction, err);
	}
	if (r == 0 && replacement_record_clear(file, &why) < 0)
		log_warn("the record of the replacement stays on '%s': %s, ignoring", newcomer->path, why.reason);
	return r;
}

static int replace_fill(struct newcomer *newcomer, const struct replace_options *options,
			struct replace_result *result, struct error *err)
{
	struct replacement *replacement = &result->replacement;
	int r = transaction_begin(replacement->transaction, err);

	if (r == 0)
		r = newcomer_make(newcomer, replacement_size(replacement), &options->newcomer, err);
	if (r == 0)
		r = replace_copy(replacement, newcomer, options, err);
	return r < 0 ? r : replace_put_in_force(replacement, newcomer, err);
}

static int replace_run(struct newcomer *newcomer, const struct replace_options *options,
		       struct replace_result *result, struct error *err)
{
	struct replacement *replacement = &result->replacement;
	int r;

	result->is_itself = newcomer->is_itself || newcomer->is_there;
	result->is_resumed = newcomer->is_resumed;
	if (newcomer->is_there)
		return replace_nothing(replacement, options->dry_run, err);
	memcpy(replacement->uuid, newcomer->uuid, sizeof(replacement->uuid));
	replacement->complete = newcomer->complete;
	r = replacement_plan(replacement, err);
	if (r == 0 && newcomer->member.file)
		r = replacement_resume(replacement, newcomer->member.file, err);
	if (r == 0)
		r = replacement_find_lost(replacement, err);
	if (r == 0)
		r = replace_check_lost(replacement, err);
	if (r == 0)
		r = newcomer_check_room(newcomer, replacement_size(replacement), err);
	if (r == 0 && !options->dry_run)
		r = replace_fill(newcomer, options, result, err);
	return r;
}

static int replace_member(const struct volume *volume, uint32_t number, const char *name,
			  const struct replace_options *options, struct replace_result *result, struct error *err)
{
	struct newcomer newcomer = { 0 };
	struct transaction transaction;
	int r = volume_begin(volume, number, options->newcomer.preempt, &transaction, err);

	if (r < 0)
		return r;
	result->replacement = (struct replacement){ .transaction = &transaction, .number = number };
	transaction.degraded = DEGRADED_MOST;
	transaction_await(&transaction, number);
	r = volume_pace(transaction.array, options->common.max_bandwidth, err);
	if (r == 0)
		r = transaction_check(&transaction, err);
	if (r == 0)
		r = newcomer_open(name, &transaction, number, &options->newcomer, &newcomer, err);
	if (r == 0)
		r = replace_run(&newcomer, options, result, err);
	result->incomplete = replacement_incomplete(&result->replacement, &result->single_bytes);
	newcomer_close(&newcomer);
	transaction_close(&transaction);
	return r;
}

/* --- output --- */

static void replace_json(const struct volume *volume, const char *name, const struct replace_options *options,
			 const struct replace_result *result)
{
	const struct replacement *replacement = &result->replacement;
	struct json json = { .out = stdout };
	char uuid[UUID_TEXT_SIZE];

	format_uuid(replacement->uuid, uuid);
	json_begin_object(&json, NULL);
	json_string(&json, "volume", volume->path);
	json_bool(&json, "dry_run", options->dry_run);
	json_number(&json, "member", replacement->number);
	json_string(&json, "new", name);
	json_string(&json, "uuid", uuid);
	json_bool(&json, "itself", result->is_itself);
	json_bool(&json, "resumed", result->is_resumed);
	json_number(&json, "used_bytes", replacement->used_bytes);
	json_number(&json, "kept_bytes", replacement->kept_bytes);
	json_number(&json, "missing_bytes", replacement->used_bytes - replacement->kept_bytes);
	json_number(&json, "read_bytes", replacement->read_bytes);
	json_number(&json, "written_bytes", replacement->written_bytes);
	json_number(&json, "wrong", replacement->wrong);
	json_number(&json, "damaged", replacement->damaged);
	json_number(&json, "incomplete_groups", result->incomplete);
	json_end_object(&json);
	putchar('\n');
}

static void replace_text(const struct volume *volume, const char *name, const struct replace_options *options,
			 const struct replace_result *result)
{
	const struct replacement *replacement = &result->replacement;
	char used[SIZE_TEXT_SIZE], missing[SIZE_TEXT_SIZE];

	format_size(replacement->used_bytes, used);
	format_size(replacement->used_bytes - replacement->kept_bytes, missing);
	text_print("'%s' %s member %" PRIu32 " of '%s': %s of %s %s copied\n", name,
		   options->dry_run ? "would be" : "is now", replacement->number, volume->path, missing, used,
		   options->dry_run ? "would be" : "were");
	if (!options->dry_run && !result->incomplete)
		printf("every group has all its columns\n");
}

/* Warns about bytes with only one copy. With three copies, a missing one leaves two. */
static void replace_warn(const struct replace_options *options, const struct replace_result *result)
{
	char bytes[SIZE_TEXT_SIZE];
	const char *still = options->dry_run ? "would still " : "";

	if (result->single_bytes)
		log_warn("%s %shave one copy only, as other members are missing or stale: 'datasetfsctl member list' "
			 "shows them", format_size(result->single_bytes, bytes), still);
	else
		log_warn("%" PRIu32 " groups of segments %slack one of their copies, as other members are missing or "
			 "stale: 'datasetfsctl member list' shows them", result->incomplete, still);
}

int member_replace_run(int argc, char **argv)
{
	struct replace_options options = { .progress = PROGRESS_AUTO };
	auto_volume struct volume *volume = NULL;
	struct replace_result result = { 0 };
	struct error err = { 0 };
	int operands, status, r;
	uint32_t number = 0;

	if (!verb_parse(&member_replace_line, argc, argv, &options, &operands, &status))
		return status;
	r = member_open(argv[1], &volume, &err);
	if (r == 0)
		r = member_find(volume, argv[2], &number, &err);
	if (r == 0)
		r = replace_member(volume, number, argv[3], &options, &result, &err);
	if (r < 0) {
		log_error(&err, "cannot replace member '%s' of '%s' by '%s'", argv[2], argv[1], argv[3]);
		replacement_close(&result.replacement);
		return verb_failed();
	}
	(options.common.json ? replace_json : replace_text)(volume, argv[3], &options, &result);
	if (result.replacement.damaged)
		log_warn("%" PRIu64 " pieces of content are wrong on all members and were copied as they are: "
			 "'datasetfsctl verify' names them", result.replacement.damaged);
	if (result.incomplete)
		replace_warn(&options, &result);
	replacement_close(&result.replacement);
	return VERB_DONE;
}
