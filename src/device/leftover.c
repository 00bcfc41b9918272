/* SPDX-License-Identifier: MIT */
/* Says how to unmount the mount of a killed daemon. */
#include "device/leftover.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

int leftover_error(int code, const char *path, struct error *err)
{
	if (code != ENOTCONN && code != ECONNABORTED)
		return error_set(err, -code, "%s", strerror(code));
	return error_set(err, -ENOTCONN, "the daemon of this mount is gone: '%s %s', then mount again",
			 geteuid() == 0 ? "umount" : "fusermount3 -u", path);
}

int leftover_stat(const char *path, struct stat *ret, struct error *err)
{
	struct statx info;

	if (statx(AT_FDCWD, path, AT_STATX_FORCE_SYNC, STATX_BASIC_STATS, &info) < 0)
		return leftover_error(errno, path, err);
	*ret = (struct stat){ .st_mode = info.stx_mode,
			      .st_dev = makedev(info.stx_dev_major, info.stx_dev_minor) };
	return 0;
}
