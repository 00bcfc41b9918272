/* SPDX-License-Identifier: MIT */
/* Parses a command line by a table, which also gives --help and the words for completion. */
#pragma once
#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"
#include "base/program/option.h"

struct option_spec {
	const char *name;     /* long name without dashes */
	char letter;          /* short name, 0 for none */
	const char *argument; /* its name in the help; NULL: a switch; "[=NAME]": optional, given only after '=' */
	struct option_value value;
	const char *help;     /* one line */
};

#define OPERANDS_ANY -1 /* as many as there are */

struct command_line {
	const char *program;
	const char *usage;   /* "[OPTIONS] VOLUME SOURCE" */
	struct {
		int least, most;
	} operands;          /* how many the caller of options_parse() accepts */
	const char *summary; /* one line */
	const struct option_spec *options; /* ends with a row whose name is NULL */
	void (*more_help)(FILE *out); /* prints the end of --help; NULL: there is no more */
	bool operands_end_options; /* the first operand ends the options: the rest is another program's command line */
};

/* Parses argv, moves the operands to the front of argv[1..] and returns how many there are. Options may stand after
 * operands; "--" ends them. --help and --version are built in: they print to stdout and set *ret_done, and the operands
 * do not count. -EINVAL, with a one-line reason: the command line has a mistake. */
must_check int options_parse(const struct command_line *line, int argc, char **argv, void *target, bool *ret_done,
			     struct error *err);
void options_help(const struct command_line *line, FILE *out);
/* Prints a line of the help, in two columns: an option, with its indent, and its description. */
void options_help_line(const char *option, const char *description, FILE *out);
