/* SPDX-License-Identifier: MIT */
/* datasetfsctl switch: switches a mount to another version, with an ioctl on its control file. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/text/format.h"
#include "base/text/json.h"
#include "control.h"
#include "datasetfs/control.h"
#include "device/dotfile.h"
#include "kernelmount/kernel_switch.h"
#include "mounts/mounted.h"
#include "text.h"
#include "verb.h"

struct switch_options {
	struct verb_options verb;
	const char *if_current;
	bool prepare;
	const char *mount_options; /* of a mount by the kernel; NULL: not given */
};

static int switch_check_label(const char *label, struct error *err)
{
	if (!*label || strlen(label) >= DSFS_SWITCH_LABEL_SIZE)
		return error_set(err, -EINVAL, "a label has 1 to %d bytes", DSFS_SWITCH_LABEL_SIZE - 1);
	return 0;
}

static const struct option_spec switch_table[] = {
	{ "options", 'o', "LIST", OPTION_TEXT(struct switch_options, mount_options, NULL),
	  "mount options of a kernel mount whose record is lost" },
	{ "if-current", 0, "LABEL", OPTION_TEXT(struct switch_options, if_current, switch_check_label),
	  "switch only if the mount serves this version now" },
	{ "prepare", 0, NULL, OPTION_TRUE(struct switch_options, prepare),
	  "load and verify the version in advance, do not switch" },
	VERB_OPTION_JSON,
	{ 0 },
};

const struct command_line switch_line = {
	.program = "datasetfsctl switch",
	.usage = "MNT [LABEL]",
	.operands = { 1, 2 },
	.summary = "Switch a mount to another version.\n"
		   "Without LABEL, switch it to the current version of its volume.",
	.options = switch_table,
};

static int switch_by_daemon(const struct mounted *mounted, struct dsfs_switch *command, struct error *err)
{
	auto_close int fd = -1;
	int r = dotfile_open(mounted->point, DSFS_CONTROL_CONTROL, &fd, err);

	if (r < 0)
		return r;
	return ioctl(fd, DSFS_IOC_SWITCH, command) == 0 ? 0 : control_failed(command->reason, err);
}

static int switch_mount(const char *mount, const struct switch_options *options, struct dsfs_switch *command,
			struct error *err)
{
	struct mounted mounted = { 0 };
	int r = control_find(mount, NULL, &mounted, err);

	if (r == 0 && mounted.label)
		r = kernel_switch(mount, options->mount_options, command, err);
	else if (r == 0 && options->mount_options)
		r = error_set(err, -EINVAL, "its daemon has its mount options, -o is for a mount by the kernel");
	else if (r == 0)
		r = switch_by_daemon(&mounted, command, err);
	mounted_free(&mounted);
	return r;
}

static void switch_show(const struct switch_options *options, const struct dsfs_switch *command)
{
	struct json json = { .out = stdout };
	char uuid[UUID_TEXT_SIZE];

	if (!options->verb.json) {
		text_print("%s version '%s', loaded in %.1f ms", options->prepare ? "prepared" : "serves",
			   command->label, (double)command->prepare_us / 1e3);
		if (!options->prepare)
			printf(", switched in %.1f ms", (double)command->switch_us / 1e3);
		putchar('\n');
		return;
	}
	format_uuid(command->uuid, uuid);
	json_begin_object(&json, NULL);
	json_string(&json, DSFS_CONTROL_LABEL, command->label);
	json_string(&json, DSFS_CONTROL_UUID, uuid);
	json_number(&json, DSFS_CONTROL_SEQUENCE, command->sequence);
	json_bool(&json, "prepared_only", options->prepare);
	json_number(&json, "prepare_us", command->prepare_us);
	json_number(&json, "switch_us", command->switch_us);
	json_end_object(&json);
	putchar('\n');
}

int switch_run(int argc, char **argv)
{
	struct switch_options options = { 0 };
	struct dsfs_switch command = { 0 };
	struct error err = { 0 };
	int operands, status, r;

	if (!verb_parse(&switch_line, argc, argv, &options, &operands, &status))
		return status;
	if (operands > 1 && (!*argv[2] || strlen(argv[2]) >= sizeof(command.label))) {
		log_err("switch: '%s' is not a label, expected 1 to %d bytes", argv[2], DSFS_SWITCH_LABEL_SIZE - 1);
		return VERB_USAGE;
	}
	command.flags = options.prepare ? DSFS_SWITCH_PREPARE : 0;
	if (operands > 1)
		strcpy(command.label, argv[2]);
	if (options.if_current)
		strcpy(command.if_current, options.if_current);
	r = switch_mount(argv[1], &options, &command, &err);
	if (r < 0) {
		log_error(&err, "cannot %s '%s'", options.prepare ? "prepare" : "switch", argv[1]);
		return VERB_FAILED;
	}
	switch_show(&options, &command);
	return VERB_DONE;
}
