/* SPDX-License-Identifier: MIT */
/* The user.* attributes of a file, encoded as the volume stores them. */
#pragma once
#include <stdint.h>

#include "base/error.h"

/* *ret_set is NULL if there are none; the caller frees it. The error does not name the file. */
/* Of the open file fd, or of path if it is given, without following symlinks. */
must_check int xattrs_read(int fd, const char *path, uint8_t **ret_set, uint32_t *ret_length, struct error *err);
