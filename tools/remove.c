/* SPDX-License-Identifier: MIT */
/* datasetfsctl remove: takes a version out of the catalogue; space that no other version uses becomes free. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/format.h"
#include "base/json.h"
#include "base/log.h"
#include "text.h"
#include "verb.h"
#include "volume.h"
#include "volume/room.h"

static const struct option_spec remove_table[] = { VERB_OPTION_DEGRADED, VERB_OPTION_JSON, { 0 } };

const struct command_line remove_line = {
	.program = "datasetfsctl remove",
	.usage = "VOLUME LABEL",
	.summary = "Remove a version that is not the current one.\n"
		   "Space that no other version uses becomes free. The command does not know which workers\n"
		   "still have the version mounted: once the space is used again, they get EIO.",
	.options = remove_table,
};

static int remove_version(const struct volume *volume, const char *label, const struct verb_options *options,
			  uint64_t *ret_freed, struct error *err)
{
	uint64_t before = 0;
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
		r = room_free(&transaction, &before, err);
	if (r == 0) {
		catalogue_remove(&transaction.catalogue, version);
		r = transaction_commit(&transaction, err);
	}
	if (r == 0)
		*ret_freed = room_gained(&transaction, before);
	transaction_close(&transaction);
	return r;
}

static void remove_print(const struct volume *volume, const char *label, uint64_t freed, bool as_json)
{
	struct json json = { .out = stdout };
	char text[SIZE_TEXT_SIZE];

	if (!as_json) {
		text_print("version '%s' removed from '%s', %s became free\n", label, volume->path,
			   format_size(freed, text));
		return;
	}
	json_begin_object(&json, NULL);
	json_string(&json, "volume", volume->path);
	json_string(&json, "removed", label);
	json_number(&json, "freed_bytes", freed);
	json_end_object(&json);
	putchar('\n');
}

int remove_run(int argc, char **argv)
{
	struct verb_options options = { 0 };
	auto_volume struct volume *volume = NULL;
	struct error err = { 0 };
	int operands, status, r;
	uint64_t freed = 0;

	if (!verb_parse(&remove_line, argc, argv, &options, 2, 2, &operands, &status))
		return status;
	r = volume_open(argv[1], &volume, &err);
	if (r == 0)
		r = remove_version(volume, argv[2], &options, &freed, &err);
	if (r < 0) {
		log_error(&err, "cannot remove '%s' from '%s'", argv[2], argv[1]);
		return verb_failed();
	}
	remove_print(volume, argv[2], freed, options.json);
	log_warn("this command does not know which workers still have '%s' mounted: they get EIO once its space is "
		 "used again", argv[2]);
	return VERB_DONE;
}
