/* SPDX-License-Identifier: MIT */
/* datasetfsctl export signatures: writes the signatures of a version, for 'datasetfsctl sign --attach' elsewhere. */
#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "export/export.h"
#include "trust/signatures.h"
#include "trust/sshsig.h"
#include "trust/statement.h"
#include "volume.h"

static const struct option_spec signatures_table[] = { { 0 } };

const struct command_line export_signatures_line = {
	.program = "datasetfsctl export signatures",
	.usage = "VOLUME|MNT LABEL",
	.operands = { 2, 2 },
	.summary = "Print the signatures of a version.\n"
		   "'datasetfsctl sign --attach' adds them to the same version on another volume, if they were\n"
		   "made with --any-volume. They are not checked.",
	.options = signatures_table,
};

/* Checks that each is a statement and a signature: the text comes from the volume, and may go to a terminal. */
static int signatures_check(struct span text, struct error *err)
{
	struct signature signature;
	struct statement statement;
	struct sshsig sshsig;
	int r;

	while ((r = signatures_next(&text, &signature, err)) > 0) {
		r = statement_parse(signature.statement, &statement, err);
		if (r == 0)
			r = sshsig_parse(signature.armour, &sshsig, err);
		if (r < 0)
			return r;
	}
	return r;
}

static int signatures_print(const struct volume *volume, const char *label, struct error *err)
{
	const struct version *version = NULL;
	int r = volume_version(volume, label, &version, err);

	if (r < 0)
		return r;
	if (!version->signature_bytes)
		return error_set(err, -ENOENT, "it is not signed");
	r = signatures_check(signatures_of(version), err);
	if (r < 0)
		return r;
	if (fwrite(version->signatures, 1, version->signature_bytes, stdout) != version->signature_bytes)
		return error_errno(err, "standard output");
	return 0;
}

int export_signatures_run(int argc, char **argv)
{
	struct verb_options options = { 0 };
	auto_volume struct volume *volume = NULL;
	struct error err = { 0 };
	int operands, status, r;

	if (!verb_parse(&export_signatures_line, argc, argv, &options, &operands, &status))
		return status;
	r = volume_open_loaded(argv[1], &volume, &err);
	if (r == 0)
		r = signatures_print(volume, argv[2], &err);
	if (r < 0) {
		log_error(&err, "cannot export the signatures of '%s' of '%s'", argv[2], argv[1]);
		return VERB_FAILED;
	}
	return VERB_DONE;
}
