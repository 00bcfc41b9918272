/* SPDX-License-Identifier: MIT */
/* datasetfsctl detach: takes a data set away from a directory, and unmounts it with the last one. */
#include <stdio.h>

#include "attach/attach.h"
#include "base/log.h"
#include "base/text/json.h"
#include "text.h"
#include "verb.h"

struct detach_options {
	struct verb_options verb;
	bool ended;
};

static const struct option_spec detach_table[] = {
	VERB_OPTION_JSON,
	{ "ended", 0, NULL, OPTION_TRUE(struct detach_options, ended),
	  "instead of TARGET: what consumers left that have ended" },
	{ 0 },
};

const struct command_line detach_line = {
	.program = "datasetfsctl detach",
	.usage = "TARGET|--ended",
	.operands = { 0, 1 },
	.summary = "Take an attached data set away.\n"
		   "It is gone from TARGET at once, even if programs use it there, which keep the files that they\n"
		   "have open, or if its daemon is dead. The last one that is detached unmounts the data set.",
	.options = detach_table,
};

static void detach_print(const char *target, bool was, bool as_json)
{
	struct json json = { .out = stdout };

	if (!as_json && !was)
		text_print("nothing is attached to '%s'\n", target);
	if (!as_json)
		return;
	json_begin_object(&json, NULL);
	json_string(&json, "target", target);
	json_bool(&json, "was_attached", was);
	json_end_object(&json);
	putchar('\n');
}

static int detach_ended(void)
{
	struct error err = { 0 };

	if (attach_reap(&err) < 0) {
		log_error(&err, "cannot clear away what has ended");
		return VERB_FAILED;
	}
	return VERB_DONE;
}

int detach_run(int argc, char **argv)
{
	struct detach_options options = { 0 };
	struct error err = { 0 };
	int operands, status;
	bool was;

	if (!verb_parse(&detach_line, argc, argv, &options, &operands, &status))
		return status;
	if (options.ended == (operands == 1) || (options.ended && options.verb.json)) {
		log_err("detach: expected TARGET, or --ended alone, see 'datasetfsctl detach --help'");
		return VERB_USAGE;
	}
	if (options.ended)
		return detach_ended();
	if (attach_detach(argv[1], &was, &err) < 0) {
		log_error(&err, "cannot detach '%s'", argv[1]);
		return VERB_FAILED;
	}
	detach_print(argv[1], was, options.verb.json);
	return VERB_DONE;
}
