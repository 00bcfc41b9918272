/* SPDX-License-Identifier: MIT */
/* datasetfsctl cache: the table of its verbs. */
#include "cache/cache.h"

#include "subverb.h"

static const struct subverb cache_verbs[] = {
	{ "list", cache_list_run, &cache_list_line },
	{ "drop", cache_drop_run, &cache_drop_line },
};

static const struct option_spec cache_table[] = { { 0 } };

const struct command_line cache_line = {
	.program = "datasetfsctl cache",
	.usage = "VERB ...",
	.summary = "Show what this machine keeps, or drop it.",
	.options = cache_table,
};

int cache_run(int argc, char **argv)
{
	return subverb_run(&cache_line, ", datasetfs-cache(7)", cache_verbs,
			   sizeof(cache_verbs) / sizeof(*cache_verbs), argc, argv);
}
