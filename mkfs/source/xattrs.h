/* SPDX-License-Identifier: MIT */
/* Reads the user.* attributes of a file and encodes them as the volume stores them. */
#pragma once
#include <stdint.h>

#include "base/error.h"

/* Reads the attributes of path, without following symlinks, or of the open file fd if path is NULL. The caller frees
 * *ret_set, which is NULL if there are none. The error does not name the file. */
must_check int xattrs_read(int fd, const char *path, uint8_t **ret_set, uint32_t *ret_length, struct error *err);
