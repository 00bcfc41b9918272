/* SPDX-License-Identifier: MIT */
/* Our EROFS images carry the UUID of their version. The mount table does not show it, so it is read from the device. */
#include "kernel/former.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "device/mountinfo.h"
#include "erofs/erofs_format.h"

struct former {
	const char *mountpoint;
	uint8_t uuid[sizeof(((struct erofs_super *)NULL)->uuid)];
	bool is_there;
};

/* A device that cannot be read does not count as ours. */
static bool former_read(const char *device, uint8_t uuid[sizeof(((struct former *)NULL)->uuid)])
{
	auto_close int fd = open(device, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	struct erofs_super super;

	if (fd < 0 || pread(fd, &super, sizeof(super), EROFS_SUPER_AT) != (ssize_t)sizeof(super) ||
	    dsfs_le32_get(super.magic) != EROFS_MAGIC)
		return false;
	memcpy(uuid, super.uuid, sizeof(super.uuid));
	return true;
}

/* Later lines of the mount table overwrite earlier ones: the last mount on a mountpoint is the visible one. */
static int former_visit(void *argument, const struct mountinfo *info, struct error *err)
{
	struct former *former = argument;

	(void)err;
	if (!strcmp(info->point, former->mountpoint))
		former->is_there = !strcmp(info->type, "erofs") && former_read(info->source, former->uuid);
	return 0;
}

int former_check(const char *mountpoint, const struct catalogue *catalogue, struct error *err)
{
	struct former former = { .mountpoint = mountpoint };
	int r = mountinfo_each(former_visit, &former, err);

	for (uint32_t i = 0; r == 0 && former.is_there && i < catalogue->version_count; i++)
		if (!memcmp(catalogue->versions[i].uuid, former.uuid, sizeof(former.uuid)))
			r = error_set(err, -EBUSY, "the kernel serves version '%s' of this volume there already: "
				      "'umount %s', then mount again", catalogue->versions[i].label, mountpoint);
	return r;
}
