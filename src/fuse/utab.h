/* SPDX-License-Identifier: MIT */
/* /run/mount/utab: what mount(8) and umount(8) know of a mount besides what the kernel says. */
#pragma once
#include <stdbool.h>

#define UTAB_HELPER "/sbin/umount.datasetfs"

/* umount(8) shall call our helper. Given an absolute path by root it would otherwise look for that of the type "fuse"
 * only. True when it was noted, which takes root and an installed helper. */
bool utab_add(const char *source, const char *mountpoint);
/* It is unmounted, and not by umount(8). */
void utab_remove(const char *mountpoint);
