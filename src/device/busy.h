/* SPDX-License-Identifier: MIT */
/* Tells whether a block device is in use. */
#pragma once
#include <sys/types.h>

#include "base/error.h"

/* Returns -EBUSY if the device is mounted or used for swap. */
must_check int busy_check(dev_t device, struct error *err);
/* Returns -EBUSY if the kernel or a program has claimed the device or a partition of it for any purpose, also for a
 * mount that this process cannot see. Returns 0 if the device cannot be opened: then nothing is known. */
must_check int busy_check_claimed(const char *node, struct error *err);
/* Returns -EBUSY if a datasetfs on this host serves a version from the device, or from a partition or mapping of it.
 * Then versions may be added, but none removed. */
must_check int busy_check_served(dev_t device, struct error *err);
