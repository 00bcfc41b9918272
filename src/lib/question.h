/* SPDX-License-Identifier: MIT */
/* Asks a mount about itself by the ioctls of datasetfs/control.h. The mount may be hostile, so callers must trust
 * nothing in the answer. */
#pragma once
#include <stdbool.h>
#include <sys/stat.h>

#include "base/error.h"

#define QUESTION_ROOT 1u /* inode number of a mount's root, in every version */

/* Whether this directory, in which no other one of its mount is seen, is a folder of a mount without the mount's root,
 * as after a bind mount. Its inode number is its id. */
static inline bool question_is_part(const struct stat *st)
{
	return st->st_ino != QUESTION_ROOT;
}

/* Sends a command that only asks to a mount. mount: a descriptor of its root, or of the folder of it that is mounted
 * alone. *argument: the command's struct; whatever the answer leaves out keeps its value. */
must_check int question_ask(int mount, unsigned long command, void *argument, struct error *err);
