/* SPDX-License-Identifier: MIT */
/* Looks for nodes where udev and devtmpfs put them. */
#include "device/nvme/devnode.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "device/nvme/mapping.h"

bool devnode_is(const char *path, dev_t device)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISBLK(st.st_mode) && st.st_rdev == device;
}

/* sysfs has ! for the / in a name. */
bool devnode_find(const char *name, dev_t device, char *path, size_t size)
{
	int length = snprintf(path, size, "/dev/%s", name);

	for (char *at = path; length > 0 && (at = strchr(at, '!'));)
		*at = '/';
	if (devnode_is(path, device))
		return true;
	snprintf(path, size, "/dev/block/%u:%u", major(device), minor(device));
	return devnode_is(path, device);
}

int devnode_open_below(const struct topology_namespace *namespace, dev_t device, int *ret, struct error *err)
{
	char path[64];
	int fd;

	if (mapping_below(topology_root(), device) == device)
		return 0;
	if (!devnode_find(namespace->name, namespace->device, path, sizeof(path)))
		return error_set(err, -ENODEV, "namespace '%s', below the mapping, has no block device node",
				 namespace->name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return error_errno(err, "cannot open '%s', below the mapping", path);
	*ret = fd;
	return 0;
}
