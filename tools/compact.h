/* SPDX-License-Identifier: MIT */
/* Verbs that move the content of versions, and have mounts of this machine consent. */
#pragma once
#include "verb.h"

/* The target of their option tables. */
struct compact_options {
	struct verb_options common;
	uint64_t below; /* percent; as in struct compaction_args, also levels */
	bool dry_run, give_back, levels;
};

/* Runs the verb, with options on top of these. Returns the exit status. */
int compact_main(const struct command_line *line, struct compact_options options, int argc, char **argv);
