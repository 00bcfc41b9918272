/* SPDX-License-Identifier: MIT */
/* Lists where members of a volume may be: the files of a folder, or the block devices of this machine. Opens
 * nothing. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"

/* A callback for each path; a result other than 0 ends the scan and is returned. */
typedef int (*scan_each)(void *argument, const char *path, struct error *err);

/* Lists regular files in the folder of path that are large enough for a volume. */
must_check int scan_folder(const char *path, scan_each each, void *argument, struct error *err);
/* Lists block devices with a node in /dev, except those that another device is built on, such as the paths of a
 * multipath device. root: the root of sysfs. */
must_check int scan_devices(const char *root, scan_each each, void *argument, struct error *err);
/* Finds the node in /dev of the device that is built on this one, such as its multipath device. False: there is
 * none. */
bool scan_holder(const char *root, dev_t device, char *path, size_t size);
