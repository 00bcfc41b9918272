/* SPDX-License-Identifier: MIT */
/* Reads the kernel's table of mounts, proc_pid_mountinfo(5). */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

/* One line of the table. The strings point into that line. */
struct mountinfo {
	uint64_t id; /* of the mount: stx_mnt_id of statx(2) */
	uint64_t parent; /* the id of the mount that it is on; its own: the root of the mount namespace */
	dev_t device;
	char *root, *point; /* the subtree that is mounted, and the mountpoint */
	char *type, *source, *options; /* of the filesystem, not of the mount */
};

#define MOUNTINFO_OURS "fuse.datasetfs" /* the type of what a daemon of ours serves, or claims to */

/* Decodes \ooo in place, as the kernel and fstab(5) write a blank, a tab, a newline and a backslash. */
void mountinfo_unescape(char *text);
/* Parses a line in place, cutting it into fields. Allocates nothing. False if it is not a valid line. */
bool mountinfo_parse(char *line, struct mountinfo *ret);

/* Calls visit for each mount that this process can see, in the order of the table, until visit returns something
 * other than 0, which mountinfo_each() returns. info is valid only during the call. */
typedef int mountinfo_visit(void *argument, const struct mountinfo *info, struct error *err);
must_check int mountinfo_each(mountinfo_visit *visit, void *argument, struct error *err);
/* Does the same with the mounts that process 1 can see, which takes no right. */
must_check int mountinfo_each_of_first(mountinfo_visit *visit, void *argument, struct error *err);
