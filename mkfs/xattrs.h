/* SPDX-License-Identifier: MIT */
/* user.* attributes of an open file as the set that the volume stores. */
#pragma once
#include <stdint.h>

#include "base/error.h"

/* *ret_set is NULL when there are none; the caller frees it. The reason does not name the file. */
must_check int xattrs_read(int fd, uint8_t **ret_set, uint32_t *ret_length, struct error *err);
