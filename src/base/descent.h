/* SPDX-License-Identifier: MIT */
/* Opens a file of whose whole path something must hold: each folder and the file are looked at as they are gone
 * through, so nobody can put something else there in between. And the rule for who may write what decides about
 * rights. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/error.h"

/* Looks at a folder of the path, or at its end: fd is open for that alone (O_PATH), path its name. */
typedef int descent_check(const void *argument, int fd, bool is_end, const char *path, struct error *err);

/* Opens an absolute path without links in it, with O_PATH, and calls check for the root and all names. The error is
 * check's, or says which name cannot be opened. */
must_check int descent_open(const char *path, descent_check *check, const void *argument, int *ret_fd,
			    struct error *err);
/* Checks that nobody but root and this user can change the file, or replace what root and the user have in the folder,
 * that st is of: in a folder with the sticky bit, as /tmp, others can only add names. -EPERM says what is wrong. */
must_check int descent_check_writers(const struct stat *st, const char *path, uint32_t user, struct error *err);
