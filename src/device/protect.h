/* SPDX-License-Identifier: MIT */
/* Write protection of a namespace by its target: against every host, and across power loss. */
#pragma once
#include <stdbool.h>

#include "base/error.h"

/* All of them take a descriptor, open for reading. */

/* Whether the block device can be written to; false as well when it is no block device. */
bool protect_is_read_only(int fd);
/* -EOPNOTSUPP when it is not a namespace, or its target has no write protection. */
must_check int protect_check(int fd, struct error *err);
/* Sets it and waits until the kernel has noticed. */
must_check int protect_set(int fd, bool on, struct error *err);
