/* SPDX-License-Identifier: MIT */
/* Implements lib/direct/daemon/several.h for unchanged programs: refuses, as a read in the caller's thread cannot leave
 * a member that hangs, and the mount can. */
#include "lib/direct/daemon/several.h"

#include <errno.h>
#include <inttypes.h>

int several_take(struct array_source *volume, struct error *err)
{
	return error_set(err, -EOPNOTSUPP, "the volume has %" PRIu32 " members: it is read through the mount",
			 volume->count);
}
