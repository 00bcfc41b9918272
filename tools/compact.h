/* SPDX-License-Identifier: MIT */
/* Verbs that move the content of versions, and have mounts of this machine consent. */
#pragma once
#include "verb.h"
#include "volume.h"
#include "volume/compaction/compaction.h"

/* The target of their option tables. */
struct compact_options {
	struct verb_options common;
	uint64_t below; /* percent; as in struct compaction_args, also kind and member */
	enum compaction_kind kind;
	uint32_t member;
	bool dry_run, give_back;
};

/* Does what the options say with the volume that the user called name. Returns the exit status. */
int compact_carry_out(const struct volume *volume, const char *name, const struct compact_options *options);
/* Runs the verb of a volume, with options on top of these. Returns the exit status. */
int compact_main(const struct command_line *line, struct compact_options options, int argc, char **argv);
