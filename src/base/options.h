/* SPDX-License-Identifier: MIT */
/* A command line as a table: the same rows give parsing, --help and the words for completion. */
#pragma once
#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"
#include "base/option.h"

struct option_spec {
	const char *name;     /* long name without dashes */
	char letter;          /* short name, 0 for none */
	const char *argument; /* its name in the help; NULL: a switch; "[=NAME]": only after '=', may be left out */
	struct option_value value;
	const char *help;     /* one line */
};

struct command_line {
	const char *program;
	const char *usage;   /* "[OPTIONS] VOLUME SOURCE" */
	const char *summary; /* one line */
	const struct option_spec *options; /* ends with a row whose name is NULL */
	bool operands_end_options; /* what follows the first operand is operands: a command line of another program */
};

/* Parses argv; operands are moved to the front of argv[1..] and counted. Options may stand after
 * operands; "--" ends them. --help and --version are built in: they print to stdout and set *ret_done.
 * -EINVAL with one specific line otherwise. */
must_check int options_parse(const struct command_line *line, int argc, char **argv, void *target,
			     int *ret_operands, bool *ret_done, struct error *err);
void options_help(const struct command_line *line, FILE *out);
