/* SPDX-License-Identifier: MIT */
/* The kernel's table of mounts, proc_pid_mountinfo(5). */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

/* A line of it; the texts lie in that line. */
struct mountinfo {
	dev_t device;
	char *root, *point; /* of what is seen where */
	char *type, *source, *options; /* the filesystem's, not the mount's */
};

/* False when the line is none. Cuts it into pieces. */
bool mountinfo_parse(char *line, struct mountinfo *ret);

/* Calls visit for each mount that this process can see, as the table has them, until it returns something else than 0,
 * which comes back. What it is given is gone afterwards. */
typedef int mountinfo_visit(void *argument, const struct mountinfo *info, struct error *err);
must_check int mountinfo_each(mountinfo_visit *visit, void *argument, struct error *err);

/* A field of it as it was before the kernel wrote blank, tab, newline and backslash as \ooo; in place. */
void mountinfo_unescape(char *text);
