/* SPDX-License-Identifier: MIT */
/* Parses the command line of a verb: options and number of operands; logs one line if it is wrong. */
#include "verb.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "base/program/interrupt.h"
#include "base/text/parse.h"

int verb_failed(void)
{
	interrupt_end();
	return VERB_FAILED;
}

int verb_set_degraded(void *target, const char *argument, struct error *err)
{
	return degraded_parse(argument, &((struct verb_options *)target)->degraded, err);
}

int verb_set_digest(void *target, const char *argument, struct error *err)
{
	struct demands *demands = &((struct verb_options *)target)->demands;

	demands->has_digest = true;
	return parse_digest(argument, demands->digest, err);
}

int verb_unknown(const char *program, const char *word, struct nearest nearest)
{
	char hint[NEAREST_HINT_SIZE];

	nearest_hint(&nearest, "", program, hint);
	log_err("unknown %s '%s', %s", word[0] == '-' ? "option" : "verb", word, hint);
	return VERB_USAGE;
}

/* Returns the verb as the user calls it: "export tar" of "datasetfsctl export tar". */
static const char *verb_name(const struct command_line *line)
{
	const char *space = strchr(line->program, ' ');

	return space ? space + 1 : line->program;
}

bool verb_parse(const struct command_line *line, int argc, char **argv, void *target, int *ret_operands,
		int *ret_status)
{
	const int least = line->operands.least, most = line->operands.most;
	struct error err = { 0 };
	bool done = false;
	int operands = options_parse(line, argc, argv, target, &done, &err), r = operands < 0 ? operands : 0;

	if (done) {
		*ret_status = VERB_DONE;
		return false;
	}
	if (r == 0 && operands < least)
		r = error_set(&err, -EINVAL, "expected %s, see '%s --help'", line->usage, line->program);
	else if (r == 0 && most != OPERANDS_ANY && operands > most)
		r = error_set(&err, -EINVAL, "unexpected operand '%s', see '%s --help'", argv[1 + most],
			      line->program);
	if (r < 0) {
		log_error(&err, "%s", verb_name(line));
		*ret_status = VERB_USAGE;
		return false;
	}
	*ret_operands = operands;
	return true;
}
