/* SPDX-License-Identifier: MIT */
/* datasetfsctl follow: stays, and has a mount by the kernel follow the volume's current version. */
#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "control.h"
#include "kernelmount/kernel_follow.h"
#include "mounts/mounted.h"
#include "verb.h"

static const struct option_spec follow_table[] = { { 0 } };

const struct command_line follow_line = {
	.program = "datasetfsctl follow",
	.usage = "MNT",
	.operands = { 1, 1 },
	.summary = "Switch a kernel mount when its volume does.\n"
		   "Ends when the mount is gone. The mount option follow=current starts it.",
	.options = follow_table,
};

static int follow_mount(const char *mount, struct error *err)
{
	struct mounted mounted = { 0 };
	int r = control_find(mount, NULL, &mounted, err);

	if (r == 0 && !mounted.label)
		r = error_set(err, -EOPNOTSUPP, "its daemon follows by itself, with the mount option follow=current");
	if (r == 0)
		r = kernel_follow(mounted.point, err);
	mounted_free(&mounted);
	return r;
}

int follow_run(int argc, char **argv)
{
	struct verb_options options = { 0 };
	struct error err = { 0 };
	int operands, status, r;

	if (!verb_parse(&follow_line, argc, argv, &options, &operands, &status))
		return status;
	r = follow_mount(argv[1], &err);
	if (r == 0)
		return VERB_DONE;
	log_error(&err, "'%s' cannot follow", argv[1]);
	return r == -ENOENT ? FOLLOW_NO_MOUNT : VERB_FAILED;
}
