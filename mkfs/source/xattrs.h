/* SPDX-License-Identifier: MIT */
/* user.* attributes of a file as the set that the volume stores. */
#pragma once
#include <stdint.h>

#include "base/error.h"

/* *ret_set is NULL when there are none; the caller frees it. The reason does not name the file. */
/* Of the open file fd; with a path, of what that names (never through a symlink). */
must_check int xattrs_read(int fd, const char *path, uint8_t **ret_set, uint32_t *ret_length, struct error *err);
