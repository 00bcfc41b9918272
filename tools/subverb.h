/* SPDX-License-Identifier: MIT */
/* Runs a verb that has verbs of its own: their table, the help, and the choice of the one that is called. */
#pragma once
#include <stddef.h>

#include "base/program/options.h"

struct subverb {
	const char *name;
	int (*run)(int argc, char **argv);
	const struct command_line *line;
};

/* Runs the verb that argv[1] names, or prints help; argv[0] is the verb of this line. Returns the exit status. page:
 * the end of the line that points to the manual page, "" or words after a comma. */
int subverb_run(const struct command_line *line, const char *page, const struct subverb *verbs, size_t count, int argc,
		char **argv);
