/* SPDX-License-Identifier: MIT */
/* Checks what both ways are given. */
#include "lib/lib.h"

#include <errno.h>
#include <inttypes.h>

#include "datasetfs/format.h"

int lib_check_id(const struct opened *opened, uint64_t id, struct error *err)
{
	uint64_t sequence = id >> DSFS_ORDINAL_BITS;

	if (id - opened->info.root < opened->info.ids)
		return 0;
	if (sequence != opened->info.sequence)
		return error_set(err, -ESTALE,
				 "id %" PRIu64 " is of the version with sequence %" PRIu64
				 ", this is '%s' with %" PRIu64 ": look the path up again",
				 id, sequence, opened->info.label, opened->info.sequence);
	return error_set(err, -ENOENT, "id %" PRIu64 " does not exist, expected %" PRIu64 " to %" PRIu64, id,
			 opened->info.root, opened->info.root + opened->info.ids - 1);
}
