/* SPDX-License-Identifier: MIT */
/* Write protection of a namespace by its target, which holds against every host and across power loss. A mapping on one
 * (device/nvme/mapping.h) stands for it. */
#pragma once
#include <stdbool.h>

#include "base/error.h"

/* All functions take a descriptor that is open for reading. */

/* True if the kernel refuses writes to the block device, or to the device below it if it is a mapping; false also if fd
 * is no block device. */
bool protect_is_read_only(int fd);
/* True if it is a read-only mapping on a writable device. */
bool protect_is_by_mapping(int fd);
/* Returns -EOPNOTSUPP if fd is not a namespace or its target has no write protection. */
must_check int protect_check(int fd, struct error *err);
/* Turns write protection on or off and waits until the kernel has noticed. */
must_check int protect_set(int fd, bool on, struct error *err);
