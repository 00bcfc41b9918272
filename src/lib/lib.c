/* SPDX-License-Identifier: MIT */
/* Checks what both ways are given. */
#include "lib/lib.h"

#include <errno.h>
#include <inttypes.h>

int lib_check_id(const struct opened *opened, uint64_t id, struct error *err)
{
	uint64_t sequence = id >> DSFS_ORDINAL_BITS;

	if (lib_has_id(&opened->info, id))
		return 0;
	if (sequence != opened->info.sequence)
		return error_set(err, -ESTALE,
				 "id %" PRIu64 " is of the version with sequence %" PRIu64
				 ", this is '%s' with %" PRIu64 ": look the path up again",
				 id, sequence, opened->info.label, opened->info.sequence);
	return error_set(err, -ENOENT, "id %" PRIu64 " does not exist, expected %" PRIu64 " to %" PRIu64, id,
			 lib_first_id(&opened->info), lib_id(&opened->info, opened->info.ids));
}

int lib_set_root(struct dsfs_info *info, uint64_t id, struct error *err)
{
	if (!lib_has_id(info, id))
		return error_set(err, -EBADMSG, "the folder that is mounted is inode %" PRIu64 ", version '%s' has "
				 "%" PRIu64 " to %" PRIu64, id, info->label, lib_first_id(info),
				 lib_id(info, info->ids));
	info->root = id;
	return 0;
}

int lib_refuse_version(const struct query *query, const char *label, struct error *err)
{
	return error_set(err, -ENOENT, "'%s' is a folder of version '%s', mounted without the mount's root: version "
			 "'%s' cannot be reached from it", query->where, label, query->version);
}

int lib_refuse_kind(uint64_t id, mode_t mode, struct error *err)
{
	if (S_ISDIR(mode))
		return error_set(err, -EISDIR, "id %" PRIu64 " is a directory", id);
	return error_set(err, -EINVAL, "id %" PRIu64 " is not a regular file", id);
}
