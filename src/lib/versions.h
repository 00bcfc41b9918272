/* SPDX-License-Identifier: MIT */
/* Lists the versions of the volume of an opened one. */
#pragma once
#include "lib/lib.h"

/* As way->versions: what the volume has now. */
must_check int versions_list(struct opened *opened,
			     int (*each)(void *argument, const struct dsfs_version_info *version), void *argument,
			     struct error *err);
