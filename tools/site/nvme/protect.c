/* SPDX-License-Identifier: MIT */
/* datasetfsctl nvme protect: turns the write protection of a namespace on and off. */
#include <stdio.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "device/locate.h"
#include "device/nvme/protect.h"
#include "io/file.h"
#include "nvme/nvme.h"
#include "text.h"

struct nvme_protect_options {
	struct verb_options common;
	bool off;
};

static const struct option_spec nvme_protect_table[] = {
	{ "off", 0, NULL, OPTION_TRUE(struct nvme_protect_options, off), "make the namespace writable again" },
	VERB_OPTION_JSON,
	{ 0 },
};

const struct command_line nvme_protect_line = {
	.program = "datasetfsctl nvme protect",
	.usage = "DEVICE|VOLUME",
	.operands = { 1, 1 },
	.summary = "Write-protect a namespace for every host.",
	.options = nvme_protect_table,
};

static void nvme_protect_print(const char *path, bool on, bool as_json)
{
	struct json json = { .out = stdout };

	if (!as_json) {
		text_print("'%s' is %s\n", path, on ? "write-protected" : "writable");
		return;
	}
	json_begin_object(&json, NULL);
	json_string(&json, "device", path);
	json_bool(&json, "write_protected", on);
	json_end_object(&json);
	putchar('\n');
}

/* Turns the protection on or off. Opens a file as well, to report that it is no namespace. */
static int nvme_protect_path(const char *path, bool on, struct error *err)
{
	struct file_source *file;
	int r = file_open(path, FILE_READ, &file, err);

	if (r < 0)
		return r;
	r = protect_check(file->fd, err);
	if (r == 0)
		r = protect_set(file->fd, on, err);
	file_close(file);
	return r;
}

int nvme_protect_run(int argc, char **argv)
{
	struct nvme_protect_options options = { 0 };
	auto_free char *path = NULL;
	struct error err = { 0 };
	int operands, status, r;

	if (!verb_parse(&nvme_protect_line, argc, argv, &options, &operands, &status))
		return status;
	r = locate_path(argv[1], &path, &err);
	if (r == 0)
		r = nvme_protect_path(path, !options.off, &err);
	if (r < 0) {
		log_error(&err, "cannot change the write protection of '%s'", argv[1]);
		return VERB_FAILED;
	}
	nvme_protect_print(path, !options.off, options.common.json);
	return VERB_DONE;
}
