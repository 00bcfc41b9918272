/* SPDX-License-Identifier: MIT */
/* datasetfsctl member grow: makes the volume as large as devices that have grown. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/text/format.h"
#include "base/text/json.h"
#include "member/member.h"
#include "text.h"

struct grow_options {
	struct verb_options common;
	bool dry_run;
};

static const struct option_spec grow_table[] = {
	{ "dry-run", 'n', NULL, OPTION_TRUE(struct grow_options, dry_run), "show what would be done" },
	VERB_OPTION_DEGRADED,
	VERB_OPTION_JSON,
	{ 0 },
};

const struct command_line member_grow_line = {
	.program = "datasetfsctl member grow",
	.usage = "VOLUME [MEMBER]",
	.operands = { 1, 2 },
	.summary = "Take the space by which devices have grown.\n"
		   "Without MEMBER, of all devices; files grow by themselves. First see that every host with a\n"
		   "mount shows the new size: one that does not refuses the volume, or misses the member.",
	.options = grow_table,
};

/* A member's bytes; without a change they are the same. */
struct grow_size {
	uint64_t before, after;
};

struct grow_result {
	struct grow_size *sizes;
	uint32_t count, number; /* of members; the one that may grow, or count: all */
	uint64_t grown;         /* bytes */
};

/* Finds the member that may grow. A volume without a table has one, which needs no name. */
static int grow_find(const struct volume *volume, const char *called, uint32_t *ret, struct error *err)
{
	*ret = volume->array->count;
	if (!called)
		return 0;
	if (!volume->catalogue.members.count)
		return error_set(err, -EINVAL, "the volume is a single file or device: it has no members");
	return member_find(volume, called, ret, err);
}

static int grow_measure(const struct transaction *transaction, struct grow_result *result, struct error *err)
{
	uint32_t count = result->count = transaction->member_count;

	result->sizes = calloc(count, sizeof(*result->sizes));
	if (!result->sizes)
		return error_no_memory(err);
	for (uint32_t i = 0; i < count; i++) {
		uint64_t grown = result->number == count || result->number == i ? transaction_grown(transaction, i) : 0;

		result->sizes[i].before = transaction->catalogue.members.count ?
						  members_size(&transaction->catalogue.members, i) :
						  transaction->super.member_size;
		result->sizes[i].after = result->sizes[i].before + grown;
		result->grown += grown;
	}
	return 0;
}

static int grow_commit(struct transaction *transaction, const struct grow_result *result, struct error *err)
{
	int r = transaction_begin(transaction, err);

	for (uint32_t i = 0; r == 0 && i < result->count; i++)
		if (result->sizes[i].after > result->sizes[i].before)
			r = transaction_grow(transaction, i, err);
	return r < 0 ? r : transaction_commit(transaction, err);
}

static int grow_volume(const struct volume *volume, const struct grow_options *options, struct grow_result *result,
		       struct error *err)
{
	struct transaction transaction;
	int r = volume_transaction(volume, options->common.degraded, &transaction, err);

	if (r < 0)
		return r;
	r = grow_measure(&transaction, result, err);
	if (r == 0 && result->grown && !options->dry_run) /* else it is so already, and nothing is written */
		r = grow_commit(&transaction, result, err);
	transaction_close(&transaction);
	return r;
}

/* --- output --- */

static void grow_json(const struct volume *volume, const struct grow_options *options, const struct grow_result *result)
{
	struct json json = { .out = stdout };

	json_begin_object(&json, NULL);
	json_string(&json, "volume", volume->path);
	json_bool(&json, "dry_run", options->dry_run);
	json_number(&json, "grown_bytes", result->grown);
	json_begin_array(&json, "members");
	for (uint32_t i = 0; i < result->count; i++) {
		json_begin_object(&json, NULL);
		json_number(&json, "member", i);
		json_number(&json, "former_size", result->sizes[i].before);
		json_number(&json, "size", result->sizes[i].after);
		json_end_object(&json);
	}
	json_end_array(&json);
	json_end_object(&json);
	putchar('\n');
}

static void grow_text(const struct volume *volume, const struct grow_options *options, const struct grow_result *result)
{
	char before[SIZE_TEXT_SIZE], after[SIZE_TEXT_SIZE], member[32] = "";

	if (!result->grown)
		text_print("'%s': no device has grown\n", volume->path);
	for (uint32_t i = 0; i < result->count; i++) {
		const struct grow_size *size = &result->sizes[i];

		if (size->after == size->before)
			continue;
		if (result->count > 1)
			snprintf(member, sizeof(member), " member %" PRIu32, i);
		text_print("'%s':%s %s from %s to %s\n", volume->path, member,
			   options->dry_run ? "would grow" : "has grown", format_size(size->before, before),
			   format_size(size->after, after));
	}
}

int member_grow_run(int argc, char **argv)
{
	struct grow_options options = { 0 };
	auto_volume struct volume *volume = NULL;
	struct grow_result result = { 0 };
	struct error err = { 0 };
	int operands, status, r;

	if (!verb_parse(&member_grow_line, argc, argv, &options, &operands, &status))
		return status;
	r = volume_open_loaded(argv[1], &volume, &err);
	if (r == 0)
		r = grow_find(volume, operands > 1 ? argv[2] : NULL, &result.number, &err);
	if (r == 0)
		r = grow_volume(volume, &options, &result, &err);
	if (r == 0)
		(options.common.json ? grow_json : grow_text)(volume, &options, &result);
	free(result.sizes);
	if (r < 0) {
		log_error(&err, "cannot let '%s' grow", argv[1]);
		return verb_failed();
	}
	return VERB_DONE;
}
