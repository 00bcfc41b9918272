/* SPDX-License-Identifier: MIT */
/* Opens the control file of a mount, for commands of datasetfs/control.h. */
#pragma once
#include "base/error.h"

struct mounted;

/* Finds a mount. The caller frees *ret with mounted_free(). mount: any path on it. advice: for one that the kernel
 * serves by itself, and that takes no commands; NULL: finds that as well, unless it is attached. */
must_check int control_find(const char *mount, const char *advice, struct mounted *ret, struct error *err);
/* The same, and opens its control file. */
must_check int control_open(const char *mount, const char *advice, int *ret, struct error *err);
/* Returns the error of a failed ioctl(2), with its number in errno. reason: from its struct; "": it has none. */
int control_failed(const char *reason, struct error *err);
