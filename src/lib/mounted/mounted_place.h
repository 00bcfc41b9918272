/* SPDX-License-Identifier: MIT */
/* Finds the mount that a path lies in, and asks it about its versions. The mount may be another user's, and hostile:
 * everything that it says is checked here. */
#pragma once
#include "lib/lib.h"

/* Opens (O_PATH) the root of the mount that `where` lies in, or the folder of it that is mounted there alone, see
 * question_is_part(). -ENOTTY: it lies in no mount of datasetfs. */
must_check int mounted_place_open(const char *where, int *ret, struct error *err);
/* Describes the version that the mount serves: fills in all of *ret except way, root and why. */
must_check int mounted_place_version(int mount, struct dsfs_info *ret, struct error *err);
/* Calls each() for the versions of the volume, oldest first, until it returns non-zero, which is returned. */
must_check int mounted_place_versions(int mount, int (*each)(void *argument, const struct dsfs_info *version,
							     bool is_current),
				      void *argument, struct error *err);
