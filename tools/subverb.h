/* SPDX-License-Identifier: MIT */
/* A verb that has verbs of its own: their table, its help, and which of them is called. */
#pragma once
#include <stddef.h>

#include "base/options.h"

struct subverb {
	const char *name;
	int (*run)(int argc, char **argv);
	const struct command_line *line;
};

/* argv[0] is the verb of this line, argv[1] the one that is called; the exit status comes back. page: where more is
 * said, "" or words behind a comma. */
int subverb_run(const struct command_line *line, const char *page, const struct subverb *verbs, size_t count, int argc,
		char **argv);
