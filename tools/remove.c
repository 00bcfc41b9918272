/* SPDX-License-Identifier: MIT */
/* datasetfsctl remove: takes a version out of the catalogue; space that no other version uses becomes free. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/text/format.h"
#include "base/text/json.h"
#include "served.h"
#include "text.h"
#include "verb.h"
#include "volume.h"
#include "volume/compaction/compaction.h"
#include "volume/transaction/room.h"

#define REMOVE_REMEDY "switch to another version first, or use --force"

struct remove_result {
	uint64_t sequence;
	uint64_t freed, waiting; /* bytes that the next publish can use, and those that compaction would give it */
	struct served served;
};

static const struct option_spec remove_table[] = {
	VERB_OPTION_FORCE, VERB_OPTION_DEGRADED, VERB_OPTION_JSON, { 0 }
};

const struct command_line remove_line = {
	.program = "datasetfsctl remove",
	.usage = "VOLUME LABEL",
	.operands = { 2, 2 },
	.summary = "Remove a version that is not the current one.\n"
		   "Space that no other version uses becomes free. Once it is used again, mounts that still\n"
		   "serve the version get EIO: those of this machine are named, and hold the command up;\n"
		   "those of other hosts are not known.",
	.options = remove_table,
};

static uint64_t remove_segments(const struct version *version)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < version->segments.count; i++)
		bytes += version->segments.items[i].length;
	return bytes;
}

/* Returns the bytes that compaction would free. That needs the indexes of all versions, so it is skipped if the version
 * shared no segment. */
static uint64_t remove_find_waiting(const struct transaction *transaction, uint64_t freed, uint64_t segments)
{
	struct error why = { 0 };
	uint64_t waiting = 0;

	if (freed < segments && compaction_waiting(transaction, COMPACTION_BELOW, &waiting, &why) < 0)
		log_warn("the version is removed, but how much compaction would gain is not known: %s, ignoring",
			 why.reason);
	return waiting;
}

static int remove_look(const struct volume *volume, const struct transaction *transaction,
		       const struct version *version, const struct verb_options *options,
		       struct remove_result *result, struct error *err)
{
	int r = served_open(volume, transaction->super.volume_uuid, &result->served, err);

	if (r < 0)
		return r;
	result->sequence = version->sequence;
	served_concern(&result->served, version->sequence, true);
	return served_refuse(&result->served, options->force, REMOVE_REMEDY, err);
}

static int remove_version(const struct volume *volume, const char *label, const struct verb_options *options,
			  struct remove_result *result, struct error *err)
{
	uint64_t before = 0, segments = 0;
	struct version *version = NULL;
	struct transaction transaction;
	int r;

	r = volume_transaction(volume, options->degraded, &transaction, err);
	if (r < 0)
		return r;
	r = volume_find(&transaction.catalogue, label, &version, err);
	if (r == 0 && version == catalogue_current(&transaction.catalogue))
		r = error_set(err, -EBUSY, "it is the current version, make another one current first");
	if (r == 0)
		r = remove_look(volume, &transaction, version, options, result, err);
	if (r == 0)
		r = room_free(&transaction, &before, err);
	if (r == 0) {
		segments = remove_segments(version);
		catalogue_remove(&transaction.catalogue, version);
		r = transaction_commit(&transaction, err);
	}
	if (r == 0) {
		result->freed = room_gained(&transaction, before);
		result->waiting = remove_find_waiting(&transaction, result->freed, segments);
	}
	transaction_close(&transaction);
	return r;
}

static void remove_text(const struct volume *volume, const char *label, const struct remove_result *result)
{
	char size[SIZE_TEXT_SIZE];

	text_print("version '%s' removed from '%s'", label, volume->path);
	if (result->freed)
		printf(", %s became free", format_size(result->freed, size));
	if (result->waiting)
		text_print(", %s wait for 'datasetfsctl compact %s'", format_size(result->waiting, size),
			   volume->path);
	if (!result->freed && !result->waiting)
		printf(", other versions use nearly all of its space");
	printf("\n");
}

static void remove_print(const struct volume *volume, const char *label, const struct remove_result *result,
			 bool as_json)
{
	struct json json = { .out = stdout };

	if (!as_json) {
		remove_text(volume, label, result);
		return;
	}
	json_begin_object(&json, NULL);
	json_string(&json, "volume", volume->path);
	json_string(&json, "removed", label);
	json_number(&json, "freed_bytes", result->freed);
	json_number(&json, "waiting_bytes", result->waiting);
	served_json(&result->served, &json);
	json_end_object(&json);
	putchar('\n');
}

int remove_run(int argc, char **argv)
{
	struct verb_options options = { 0 };
	auto_volume struct volume *volume = NULL;
	struct remove_result result = { 0 };
	struct error err = { 0 };
	int operands, status, r;

	if (!verb_parse(&remove_line, argc, argv, &options, &operands, &status))
		return status;
	r = volume_open(argv[1], &volume, &err);
	if (r == 0)
		r = remove_version(volume, argv[2], &options, &result, &err);
	if (r == 0) {
		remove_print(volume, argv[2], &result, options.json);
		served_warn(&result.served, argv[2], result.sequence);
	}
	served_close(&result.served);
	if (r < 0) {
		log_error(&err, "cannot remove '%s' from '%s'", argv[2], argv[1]);
		return verb_failed();
	}
	return VERB_DONE;
}
