/* SPDX-License-Identifier: MIT */
/* Mountpoints that show a volume already. */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

/* The name of the memory with what the kernel mounts (memfd_create(2)) is this, a blank, the label of the version, a
 * blank, and the volume: of a mount without a process nothing else tells what it shows. */
#define OCCUPIED_IMAGE     "datasetfs-erofs"
#define OCCUPIED_NAME_SIZE 250u /* the longest that memfd_create(2) takes */

/* Whether the kernel serves a volume of ours from the device of a mount. label, volume: what the name says, or "". */
struct occupied_view {
	char label[OCCUPIED_NAME_SIZE], volume[OCCUPIED_NAME_SIZE];
};
bool occupied_by_kernel(dev_t device, struct occupied_view *ret);

/* -EBUSY if a volume is mounted on just this mountpoint, by a daemon or by the kernel, and nothing covers it: another
 * mount would hide it, with its daemon and its memory, from everybody who is not inside. Other filesystems may be
 * covered, a directory below a mount as well. The path is absolute, without symbolic links. */
must_check int occupied_check(const char *mountpoint, struct error *err);
