/* SPDX-License-Identifier: MIT */
/* datasetfsctl current: makes a version the current one, which mounts serve unless they name another. */
#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/text/json.h"
#include "text.h"
#include "verb.h"
#include "volume.h"

static const struct option_spec current_table[] = { VERB_OPTION_DEGRADED, VERB_OPTION_JSON, { 0 } };

const struct command_line current_line = {
	.program = "datasetfsctl current",
	.usage = "VOLUME LABEL",
	.operands = { 2, 2 },
	.summary = "Make a version the current one.\n"
		   "Mounts that name no version take it from now on. Existing mounts keep their version,\n"
		   "except those with follow=current, which switch to it.",
	.options = current_table,
};

static int current_set(const struct volume *volume, const char *label, const struct verb_options *options,
		       char former[DSFS_LABEL_MAX + 1], struct error *err)
{
	const struct version *current;
	struct version *version = NULL;
	struct transaction transaction;
	int r;

	r = volume_transaction(volume, options->degraded, &transaction, err);
	if (r < 0)
		return r;
	r = volume_find(&transaction.catalogue, label, &version, err);
	current = catalogue_current(&transaction.catalogue);
	snprintf(former, DSFS_LABEL_MAX + 1, "%s", current ? current->label : "");
	if (r == 0 && version != current) { /* else it is so already, and nothing is written */
		transaction.catalogue.current = version->sequence;
		r = transaction_commit(&transaction, err);
	}
	transaction_close(&transaction);
	return r;
}

static void current_print(const struct volume *volume, const char *label, const char *former, bool as_json)
{
	struct json json = { .out = stdout };

	if (!as_json) {
		text_print("version '%s' of '%s' is now current\n", label, volume->path);
		return;
	}
	json_begin_object(&json, NULL);
	json_string(&json, "volume", volume->path);
	json_string(&json, "current", label);
	if (former[0])
		json_string(&json, "former", former);
	else
		json_null(&json, "former");
	json_end_object(&json);
	putchar('\n');
}

int current_run(int argc, char **argv)
{
	struct verb_options options = { 0 };
	auto_volume struct volume *volume = NULL;
	char former[DSFS_LABEL_MAX + 1];
	struct error err = { 0 };
	int operands, status, r;

	if (!verb_parse(&current_line, argc, argv, &options, &operands, &status))
		return status;
	r = volume_open(argv[1], &volume, &err);
	if (r == 0)
		r = current_set(volume, argv[2], &options, former, &err);
	if (r < 0) {
		log_error(&err, "cannot make '%s' current on '%s'", argv[2], argv[1]);
		return verb_failed();
	}
	current_print(volume, argv[2], former, options.json);
	return VERB_DONE;
}
