/* SPDX-License-Identifier: MIT */
/* Opens the control file of a mount, for commands of datasetfs/control.h. */
#pragma once
#include "base/error.h"

/* mount: any path on it. advice: for a mount that the kernel serves by itself, and that takes no commands. */
must_check int control_open(const char *mount, const char *advice, int *ret, struct error *err);
/* Returns the error of a failed ioctl(2), whose number is in errno. reason: from its struct; "": it has none. */
int control_failed(const char *reason, struct error *err);
