/* SPDX-License-Identifier: MIT */
/* Checks inode numbers: in a mount they contain the sequence of the version, except that the mount's root is 1 in
 * every version. */
#include "lib/mounted/mounted_version.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "datasetfs/format.h"
#include "lib/mounted/mounted_place.h"
#include "lib/question.h"

static int mounted_version_is_left(const struct mounted_version *mounted, struct error *err)
{
	return error_set(err, -ESTALE, "the mount has left version '%s' (sequence %" PRIu64 "), and gives no "
			 "directory for it: dsfs_refresh() goes to the one that it serves now",
			 mounted->opened.info.label, mounted->opened.info.sequence);
}

int mounted_version_number(const struct mounted_version *mounted, uint64_t number, uint64_t *ret, struct error *err)
{
	const struct dsfs_info *info = &mounted->opened.info;

	if (number == QUESTION_ROOT && !mounted->is_pinned)
		number = info->root;
	if (lib_has_id(info, number)) {
		*ret = number;
		return 0;
	}
	if (!mounted->is_pinned && number >> DSFS_ORDINAL_BITS != info->sequence)
		return mounted_version_is_left(mounted, err);
	return error_set(err, -EIO, "the mount shows the inode %" PRIu64 " in version '%s', expected %" PRIu64
			 " to %" PRIu64, number, info->label, lib_first_id(info), lib_id(info, info->ids));
}

int mounted_version_id(const struct mounted_version *mounted, const struct stat *st, uint64_t *ret, struct error *err)
{
	if (st->st_dev != mounted->device)
		return error_set(err, -EBADF, "a descriptor of the mount leads elsewhere: the program closed it");
	return mounted_version_number(mounted, st->st_ino, ret, err);
}

int mounted_version_expect(const struct mounted_version *mounted, int fd, const char *path, uint64_t id,
			   struct stat *ret_st, struct error *err)
{
	uint64_t found = 0;
	int r;

	if (fstat(fd, ret_st) < 0)
		return error_errno(err, "'%s'", path);
	r = mounted_version_id(mounted, ret_st, &found, err);
	if (r == 0 && found != id)
		r = error_set(err, -EIO, "'%s' in the mount is inode %" PRIu64 ", and was %" PRIu64, path, found, id);
	return r;
}

int mounted_version_check(const struct mounted_version *mounted, struct error *err)
{
	struct dsfs_info served;
	int r;

	if (mounted->is_pinned)
		return 0;
	r = mounted_place_version(mounted->mount, &served, err);
	if (r < 0)
		return r;
	return lib_is_same(&served, &mounted->opened.info) ? 0 : mounted_version_is_left(mounted, err);
}

int mounted_version_settle(const struct mounted_version *mounted, int r, struct error *err)
{
	struct error why;

	if (r < 0 && mounted_version_check(mounted, &why) == -ESTALE)
		return error_pass(err, -ESTALE, &why);
	return r;
}
