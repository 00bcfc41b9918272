/* SPDX-License-Identifier: MIT */
/* Is a block device in use by the kernel? */
#pragma once
#include <sys/types.h>

#include "base/error.h"

/* -EBUSY when it is mounted or used for swap. */
must_check int busy_check(dev_t device, struct error *err);
/* -EBUSY when the kernel or a program has claimed it or a partition of it, whatever for: also for a mount that this
 * process does not see. Where the device cannot be opened nothing is known. */
must_check int busy_check_claimed(const char *node, struct error *err);
/* -EBUSY when a datasetfs on this host serves a version of it: a new one may be added, but nothing taken away. */
must_check int busy_check_served(dev_t device, struct error *err);
