/* SPDX-License-Identifier: MIT */
/* datasetfsctl member drain: moves all content from a member, which leaves the volume then. */
#include "base/cleanup.h"
#include "base/log.h"
#include "compact.h"
#include "member/member.h"

static const struct option_spec drain_table[] = {
	{ "dry-run", 'n', NULL, OPTION_TRUE(struct compact_options, dry_run), "show what would be done" },
	VERB_OPTION_FORCE,
	VERB_OPTION_DEGRADED,
	VERB_OPTION_MAX_BANDWIDTH,
	VERB_OPTION_JSON,
	{ 0 },
};

const struct command_line member_drain_line = {
	.program = "datasetfsctl member drain",
	.usage = "VOLUME OLD",
	.operands = { 2, 2 },
	.summary = "Move all content from OLD, which leaves.\n"
		   "OLD is a number, a UUID, an identity or a path; a missing one needs --degraded. Versions that\n"
		   "move, and mounts of them, are treated as by 'compact'. The same command goes on after a crash.",
	.options = drain_table,
};

int member_drain_run(int argc, char **argv)
{
	struct compact_options options = { .kind = COMPACTION_DRAIN };
	auto_volume struct volume *volume = NULL;
	struct error err = { 0 };
	int operands, status, r;

	if (!verb_parse(&member_drain_line, argc, argv, &options, &operands, &status))
		return status;
	r = member_open(argv[1], &volume, &err);
	if (r == 0)
		r = member_find(volume, argv[2], &options.member, &err);
	if (r < 0) {
		log_error(&err, "cannot drain a member of '%s'", argv[1]);
		return verb_failed();
	}
	return compact_carry_out(volume, argv[1], &options);
}
