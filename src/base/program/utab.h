/* SPDX-License-Identifier: MIT */
/* Keeps /run/mount/utab: facts about a mount for mount(8) and umount(8) that the kernel does not keep. */
#pragma once
#include <stdbool.h>

#define UTAB_HELPER "/sbin/umount.datasetfs"

/* Makes umount(8) call our helper. Otherwise, given an absolute path by root, it looks only for the helper of the type
 * "fuse". True if the entry was made, which takes root and an installed helper. */
bool utab_add(const char *source, const char *mountpoint);
/* Removes the entry of a mount that something other than umount(8) has unmounted. */
void utab_remove(const char *mountpoint);
