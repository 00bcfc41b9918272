/* SPDX-License-Identifier: MIT */
/* Write protection of a namespace, kept by the target: against every host, and over power loss. */
#pragma once
#include <stdbool.h>

#include "base/error.h"

/* Whether the block device can be written to; false as well when it is no block device. */
bool protect_is_read_only(const char *path);
/* -EOPNOTSUPP when it is not a namespace, or its target has no write protection. */
must_check int protect_check(const char *path, struct error *err);
/* Sets it and waits until the kernel has noticed. */
must_check int protect_set(const char *path, bool on, struct error *err);
