/* SPDX-License-Identifier: MIT */
/* Lists the versions of an opened version's volume. */
#pragma once
#include "lib/lib.h"

/* Implements backend->versions: lists the versions that the volume has now. */
must_check int versions_list(struct opened *opened,
			     int (*each)(void *argument, const struct dsfs_version_info *version), void *argument,
			     struct error *err);
