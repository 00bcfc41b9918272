/* SPDX-License-Identifier: MIT */
/* Mounts whose daemon was killed: the kernel keeps them, and answers uncached requests with ENOTCONN. */
#pragma once
#include <sys/stat.h>

#include "base/error.h"

/* Sets the error for a call on path that failed with this errno. If path is on a mount whose daemon is gone, the reason
 * says how to unmount it. Returns a negative errno. */
must_check int leftover_error(int code, const char *path, struct error *err);
/* Gets type, mode and device of path from its filesystem's server, as the kernel's cache outlives a dead daemon. */
must_check int leftover_stat(const char *path, struct stat *ret, struct error *err);
