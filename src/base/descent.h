/* SPDX-License-Identifier: MIT */
/* Opens a file that decides about rights, if only root and one user can have put it where its path leads: goes one name
 * at a time, each from the folder that was checked, and resolves symbolic links in the same way. So no other user can
 * put something else there in between. */
#pragma once
#include <stdint.h>
#include <sys/stat.h>

#include "base/error.h"

/* Opens the file with O_PATH. -EPERM: others than root and the user can change it, or replace it, a folder above it, or
 * a link that leads there. In a folder with the sticky bit, as /tmp, others can only add names. A folder that another
 * user has mounted counts as that user's, whatever owners it shows. */
must_check int descent_open(const char *path, uint32_t user, int *ret_fd, struct stat *ret_st, struct error *err);
/* Opens a regular file in this way for reading; a FIFO or a device is not even opened. */
must_check int descent_open_file(const char *path, uint32_t user, int *ret_fd, struct stat *ret_st,
				 struct error *err);
