/* SPDX-License-Identifier: MIT */
/* Opens a file of whose whole path something must hold: each folder and the file are looked at as they are gone
 * through, so nobody can put something else there in between. */
#pragma once
#include <stdbool.h>

#include "base/error.h"

/* Looks at a folder of the path, or at its end: fd is open for that alone (O_PATH), path its name. */
typedef int descent_check(const void *argument, int fd, bool is_end, const char *path, struct error *err);

/* Opens an absolute path without links in it, with O_PATH, and calls check for the root and all names. The error is
 * check's, or says which name cannot be opened. */
must_check int descent_open(const char *path, descent_check *check, const void *argument, int *ret_fd,
			    struct error *err);
