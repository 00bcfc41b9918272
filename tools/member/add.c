/* SPDX-License-Identifier: MIT */
/* datasetfsctl member add: makes files or devices further members of a volume. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/text/format.h"
#include "base/text/json.h"
#include "device/locate.h"
#include "member/member.h"
#include "member/newcomer.h"
#include "text.h"
#include "volume/replacement/replacement_record.h"

#define ADD_MOST (DSFS_MEMBER_MAX + 1u) /* members */

struct add_options {
	struct verb_options common;
	struct newcomer_options newcomer;
	bool dry_run;
};

static const struct option_spec add_table[] = {
	{ "dry-run", 'n', NULL, OPTION_TRUE(struct add_options, dry_run), "show what would be done" },
	{ "force", 0, NULL, OPTION_TRUE(struct add_options, newcomer.force),
	  "replace something else that lies on NEW" },
	{ "preempt", 0, NULL, OPTION_TRUE(struct add_options, newcomer.preempt),
	  "NVMe: take the reservation of a lost publisher" },
	VERB_OPTION_JSON,
	{ 0 },
};

const struct command_line member_add_line = {
	.program = "datasetfsctl member add",
	.usage = "VOLUME NEW...",
	.operands = { 2, (int)ADD_MOST },
	.summary = "Make each NEW one more member.\n"
		   "NEW is an empty device, or a file that is made. The next publish uses it. Mounts take it in\n"
		   "within seconds. The same command goes on after a crash.",
	.options = add_table,
};

/* A member to be. */
struct add_newcomer {
	struct newcomer newcomer;
	uint32_t number;
	const char *name;
	bool was_there; /* an earlier run made it a member */
};

struct add_result {
	struct add_newcomer *items;
	uint32_t count;
};

static int add_open(const struct volume *volume, struct transaction *transaction, const struct add_options *options,
		    struct add_result *result, struct error *err)
{
	uint64_t least = allocator_least(UINT64_C(1) << transaction->super.segment_log);
	uint32_t number = transaction->member_count;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < result->count; i++) {
		struct add_newcomer *item = &result->items[i];

		item->was_there = member_find_at(volume, item->name, &item->number);
		if (item->was_there)
			continue;
		item->number = number++;
		r = newcomer_open(item->name, transaction, item->number, &options->newcomer, &item->newcomer, err);
		if (r == 0)
			r = newcomer_check_room(&item->newcomer, least, err);
	}
	if (r == 0 && number > ADD_MOST)
		r = error_set(err, -EINVAL, "the volume would have %" PRIu32 " members, at most %u are possible",
			      number, ADD_MOST);
	return r;
}

/* Makes the newcomer ready, with a record that identifies it from then on. */
static int add_prepare(const struct transaction *transaction, struct add_newcomer *item,
		       const struct add_options *options, struct error *err)
{
	struct newcomer *newcomer = &item->newcomer;
	struct superblock *super = &newcomer->member.super;
	int r = newcomer_make(newcomer, DSFS_DATA_AT, &options->newcomer, err);

	if (r < 0)
		return r;
	*super = transaction->super;
	super->member = item->number;
	super->catalogue_address = super->catalogue_length = 0;
	memcpy(super->member_uuid, newcomer->uuid, sizeof(super->member_uuid));
	return newcomer_write_record(newcomer, err);
}

static int add_enter(struct transaction *transaction, struct add_newcomer *item, struct error *err)
{
	char identity[TOPOLOGY_IDENTITY_SIZE], domain[TOPOLOGY_DOMAIN_SIZE];
	struct transaction_member *member = &item->newcomer.member;
	int r = locate_identity(member->file->fd, identity, err);

	if (r == 0)
		r = locate_domain(member->file->fd, domain, err);
	if (r < 0)
		return r;
	r = transaction_add(transaction, member, err);
	*member = (struct transaction_member){ 0 }; /* the transaction owns it now */
	if (r == 0)
		transaction_set_identity(transaction, item->number, identity, domain);
	return r;
}

static int add_commit(struct transaction *transaction, const struct add_options *options, struct add_result *result,
		      struct error *err)
{
	int r = transaction_begin(transaction, err);

	for (uint32_t i = 0; r == 0 && i < result->count; i++)
		if (!result->items[i].was_there)
			r = add_prepare(transaction, &result->items[i], options, err);
	for (uint32_t i = 0; r == 0 && i < result->count; i++)
		if (!result->items[i].was_there)
			r = add_enter(transaction, &result->items[i], err);
	if (r == 0)
		r = transaction_commit(transaction, err);
	return r;
}

/* Clears the records, also those of an earlier run that was interrupted before it did so. */
static void add_clear_records(const struct transaction *transaction, const struct add_result *result)
{
	struct replacement_record record;
	struct error why = { 0 };

	for (uint32_t i = 0; i < result->count; i++) {
		struct file_source *file = transaction->members[result->items[i].number].file;

		if (file && replacement_record_read(file, &record) &&
		    replacement_record_clear(file, &why) < 0)
			log_warn("a record stays on '%s': %s, ignoring", result->items[i].name, why.reason);
	}
}

static bool add_is_needed(const struct add_result *result)
{
	for (uint32_t i = 0; i < result->count; i++)
		if (!result->items[i].was_there)
			return true;
	return false;
}

static int add_members(const struct volume *volume, const struct add_options *options, struct add_result *result,
		       struct error *err)
{
	struct transaction transaction;
	int r = volume_begin(volume, TRANSACTION_ALL_STAY, options->newcomer.preempt, &transaction, err);

	if (r < 0)
		return r;
	r = transaction_check(&transaction, err);
	if (r == 0)
		r = add_open(volume, &transaction, options, result, err);
	if (r == 0 && !options->dry_run && add_is_needed(result))
		r = add_commit(&transaction, options, result, err);
	if (r == 0 && !options->dry_run)
		add_clear_records(&transaction, result);
	for (uint32_t i = 0; i < result->count; i++)
		newcomer_close(&result->items[i].newcomer);
	transaction_close(&transaction);
	return r;
}

/* --- output --- */

static void add_json(const struct volume *volume, const struct add_options *options, const struct add_result *result)
{
	struct json json = { .out = stdout };

	json_begin_object(&json, NULL);
	json_string(&json, "volume", volume->path);
	json_bool(&json, "dry_run", options->dry_run);
	json_begin_array(&json, "added");
	for (uint32_t i = 0; i < result->count; i++) {
		json_begin_object(&json, NULL);
		json_number(&json, "member", result->items[i].number);
		json_string(&json, "name", result->items[i].name);
		json_bool(&json, "was_there", result->items[i].was_there);
		json_end_object(&json);
	}
	json_end_array(&json);
	json_end_object(&json);
	putchar('\n');
}

static void add_text(const struct volume *volume, const struct add_options *options, const struct add_result *result)
{
	for (uint32_t i = 0; i < result->count; i++) {
		const struct add_newcomer *item = &result->items[i];

		text_print("'%s' %s member %" PRIu32 " of '%s'%s\n", item->name,
			   item->was_there || !options->dry_run ? "is" : "would be", item->number, volume->path,
			   item->was_there ? " already" : "");
	}
}

static int add_run(const struct volume *volume, char **names, uint32_t count, const struct add_options *options,
		   struct error *err)
{
	auto_free struct add_newcomer *items = calloc(count, sizeof(*items));
	struct add_result result = { .items = items, .count = count };
	int r = items ? 0 : error_no_memory(err);

	for (uint32_t i = 0; r == 0 && i < count; i++) {
		items[i].name = names[i];
		for (uint32_t k = 0; r == 0 && k < i; k++)
			if (!strcmp(names[i], names[k]))
				r = error_set(err, -EINVAL, "'%s' is named twice", names[i]);
	}
	if (r == 0)
		r = add_members(volume, options, &result, err);
	if (r == 0)
		(options->common.json ? add_json : add_text)(volume, options, &result);
	return r;
}

int member_add_run(int argc, char **argv)
{
	struct add_options options = { 0 };
	auto_volume struct volume *volume = NULL;
	struct error err = { 0 };
	int operands, status, r;

	if (!verb_parse(&member_add_line, argc, argv, &options, &operands, &status))
		return status;
	r = member_open(argv[1], &volume, &err);
	if (r == 0)
		r = add_run(volume, argv + 2, (uint32_t)operands - 1, &options, &err);
	if (r < 0) {
		log_error(&err, "cannot add members to '%s'", argv[1]);
		return verb_failed();
	}
	return VERB_DONE;
}
