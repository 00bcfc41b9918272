/* SPDX-License-Identifier: MIT */
/* datasetfsctl nvme release: gives up a reservation that this host kept or that a killed publisher left. */
#include <stdio.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "device/locate.h"
#include "device/nvme/fence.h"
#include "io/file.h"
#include "nvme/nvme.h"
#include "text.h"

static const struct option_spec nvme_release_table[] = { VERB_OPTION_JSON, { 0 } };

const struct command_line nvme_release_line = {
	.program = "datasetfsctl nvme release",
	.usage = "DEVICE|VOLUME",
	.operands = { 1, 1 },
	.summary = "Give up this host's reservation.",
	.options = nvme_release_table,
};

/* Drops the reservation under the publisher's lock, so not while a publisher is at work. */
static int nvme_release_drop(const char *path, bool *ret_had, struct error *err)
{
	struct file_source *file;
	int r = file_open(path, FILE_WRITE, &file, err);

	if (r < 0)
		return r;
	r = fence_drop(file->fd, ret_had, err);
	file_close(file);
	return r;
}

int nvme_release_run(int argc, char **argv)
{
	struct verb_options options = { 0 };
	struct json json = { .out = stdout };
	auto_free char *path = NULL;
	struct error err = { 0 };
	int operands, status, r;
	bool had;

	if (!verb_parse(&nvme_release_line, argc, argv, &options, &operands, &status))
		return status;
	r = locate_path(argv[1], &path, &err);
	if (r == 0)
		r = nvme_release_drop(path, &had, &err);
	if (r < 0) {
		log_error(&err, "cannot release '%s'", argv[1]);
		return VERB_FAILED;
	}
	if (!options.json) {
		text_print("'%s' %s\n", path, had ? "is no longer reserved" : "was not reserved");
		return VERB_DONE;
	}
	json_begin_object(&json, NULL);
	json_string(&json, "device", path);
	json_bool(&json, "was_reserved", had);
	json_end_object(&json);
	putchar('\n');
	return VERB_DONE;
}
