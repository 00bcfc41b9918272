/* SPDX-License-Identifier: MIT */
/* datasetfsctl export erofs: writes a file by which the kernel itself mounts a version. */
#include <errno.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "export/export.h"
#include "volume.h"

struct erofs_options {
	struct verb_options verb;
	bool force, dry_run;
};

static const struct option_spec erofs_table[] = {
	{ "dry-run", 0, NULL, OPTION_TRUE(struct erofs_options, dry_run), "say how large FILE would be" },
	{ "force", 0, NULL, OPTION_TRUE(struct erofs_options, force), "replace FILE if it is there" },
	VERB_OPTION_JSON,
	{ 0 },
};

const struct command_line export_erofs_line = {
	.program = "datasetfsctl export erofs",
	.usage = "VOLUME|MNT LABEL FILE",
	.summary = "Write a version as metadata of an EROFS.\n"
		   "The content stays on the volume: the kernel mounts FILE with the volume as a further device.",
	.options = erofs_table,
};

static int erofs_export(const struct volume *volume, const char *label, struct error *err)
{
	const struct version *version = NULL;
	int r = volume_version(volume, label, &version, err);

	return r < 0 ? r : error_set(err, -EOPNOTSUPP, "'%s' cannot be written as EROFS", label);
}

int export_erofs_run(int argc, char **argv)
{
	struct erofs_options options = { 0 };
	auto_volume struct volume *volume = NULL;
	struct error err = { 0 };
	int operands, status;

	if (!verb_parse(&export_erofs_line, argc, argv, &options, 3, 3, &operands, &status))
		return status;
	if (volume_open_loaded(argv[1], &volume, &err) < 0 || erofs_export(volume, argv[2], &err) < 0) {
		log_error(&err, "cannot export '%s' of '%s'", argv[2], argv[1]);
		return VERB_FAILED;
	}
	return VERB_DONE;
}
