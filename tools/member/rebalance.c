/* SPDX-License-Identifier: MIT */
/* datasetfsctl member rebalance: spreads versions over all members. */
#include "compact.h"
#include "member/member.h"

static const struct option_spec rebalance_table[] = {
	{ "dry-run", 'n', NULL, OPTION_TRUE(struct compact_options, dry_run), "show what would be done" },
	VERB_OPTION_FORCE,
	VERB_OPTION_DEGRADED,
	VERB_OPTION_MAX_BANDWIDTH,
	VERB_OPTION_JSON,
	{ 0 },
};

const struct command_line member_rebalance_line = {
	.program = "datasetfsctl member rebalance",
	.usage = "VOLUME",
	.operands = { 1, 1 },
	.summary = "Spread versions over all members.\n"
		   "Moves what a member has in excess of its share, as after 'member add'. Versions that move,\n"
		   "and mounts of them, are treated as by 'compact'.",
	.options = rebalance_table,
};

int member_rebalance_run(int argc, char **argv)
{
	return compact_main(&member_rebalance_line, (struct compact_options){ .levels = true }, argc, argv);
}
