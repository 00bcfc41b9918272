/* SPDX-License-Identifier: MIT */
/* datasetfsctl export: the table of its verbs. */
#include "export/export.h"

#include "subverb.h"

static const struct subverb export_verbs[] = {
	{ "erofs", export_erofs_run, &export_erofs_line },
	{ "signatures", export_signatures_run, &export_signatures_line },
	{ "tar", export_tar_run, &export_tar_line },
};

static const struct option_spec export_table[] = { { 0 } };

const struct command_line export_line = {
	.program = "datasetfsctl export",
	.usage = "VERB ...",
	.summary = "Write a version in another form.",
	.options = export_table,
};

int export_run(int argc, char **argv)
{
	return subverb_run(&export_line, "", export_verbs, sizeof(export_verbs) / sizeof(*export_verbs), argc, argv);
}
