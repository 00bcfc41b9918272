/* SPDX-License-Identifier: MIT */
/* Finds the mount of a path in the mount table first, as only datasetfs has commands. */
#include "control.h"

#include <errno.h>
#include <fcntl.h>

#include "attach/uses.h"
#include "base/cleanup.h"
#include "datasetfs/control.h"
#include "device/dotfile.h"
#include "mounts/mounted.h"

/* A switch would leave those who have a copy with the old version, and nobody would know of them any more. */
static int control_check_attached(const struct mounted *mounted, struct error *err)
{
	auto_uses struct uses uses = { 0 };
	int r = uses_read(&uses, err);

	if (r < 0 || !uses_shared(&uses, mounted->device))
		return r;
	return error_set(err, -EOPNOTSUPP, "it is attached, and the kernel serves it: those who have it keep their "
			 "version, the next attach may ask for another one");
}

int control_find(const char *mount, const char *advice, struct mounted *ret, struct error *err)
{
	int r = mounted_at(mount, AT_STATX_FORCE_SYNC, ret, err);

	if (r < 0 || !ret->label)
		return r;
	r = advice ? error_set(err, -EOPNOTSUPP, "the kernel serves it by itself: %s", advice) :
		     control_check_attached(ret, err);
	if (r < 0)
		mounted_free(ret);
	return r;
}

int control_open(const char *mount, const char *advice, int *ret, struct error *err)
{
	struct mounted mounted = { 0 };
	int r = control_find(mount, advice, &mounted, err);

	if (r == 0)
		r = dotfile_open(mounted.point, DSFS_CONTROL_CONTROL, ret, err);
	mounted_free(&mounted);
	return r;
}

int control_failed(const char *reason, struct error *err)
{
	if (errno == ENOTTY)
		return error_set(err, -ENOTTY, "the daemon of this mount does not know the command");
	if (errno == EBUSY && !*reason)
		return error_set(err, -EBUSY, "too many commands are under way");
	return *reason ? error_set(err, -errno, "%s", reason) : error_errno(err, "ioctl");
}
