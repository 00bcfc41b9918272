/* SPDX-License-Identifier: MIT */
/* Calls statx(), and compares attributes to detect changes. */
#include "source/attributes.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

int attributes_read(int fd, const char *name, struct attributes *ret)
{
	struct statx stx;

	if (statx(fd, name, AT_SYMLINK_NOFOLLOW | (*name ? 0 : AT_EMPTY_PATH), STATX_BASIC_STATS, &stx) < 0)
		return -errno;
	*ret = (struct attributes){
		.device = makedev(stx.stx_dev_major, stx.stx_dev_minor),
		.inode = stx.stx_ino,
		.size = stx.stx_size,
		.mtime = stx.stx_mtime.tv_sec,
		.ctime = stx.stx_ctime.tv_sec,
		.mtime_nsec = stx.stx_mtime.tv_nsec,
		.ctime_nsec = stx.stx_ctime.tv_nsec,
		.mode = stx.stx_mode,
		.uid = stx.stx_uid,
		.gid = stx.stx_gid,
		.nlink = stx.stx_nlink,
		.has_holes = stx.stx_blocks * 512 < stx.stx_size,
	};
	return 0;
}

bool attributes_are_same(const struct attributes *a, const struct attributes *b)
{
	return a->inode == b->inode && a->device == b->device && a->size == b->size && a->mode == b->mode &&
	       a->mtime == b->mtime && a->mtime_nsec == b->mtime_nsec && a->ctime == b->ctime &&
	       a->ctime_nsec == b->ctime_nsec;
}

uint64_t attributes_ctime_ns(const struct attributes *attributes)
{
	return (uint64_t)attributes->ctime * 1000000000u + attributes->ctime_nsec;
}
