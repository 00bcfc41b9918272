/* SPDX-License-Identifier: MIT */
/* Finds the file in fusectl. */
#include "fuse/abort.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mount.h>
#include <unistd.h>

#include "base/cleanup.h"

#define ABORT_CONNECTIONS "/sys/fs/fuse/connections"

/* Mounts fusectl, detached from any path, on a machine where it is not mounted. */
static int abort_mount(void)
{
	auto_close int context = fsopen("fusectl", FSOPEN_CLOEXEC);

	if (context < 0 || fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return -1;
	return fsmount(context, FSMOUNT_CLOEXEC, 0);
}

int abort_open(unsigned device_minor, int *ret_fd, struct error *err)
{
	auto_close int top = -1;
	char path[64];
	int fd;

	snprintf(path, sizeof(path), ABORT_CONNECTIONS "/%u/abort", device_minor);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT) {
		top = abort_mount();
		if (top >= 0)
			fd = openat(top, path + sizeof(ABORT_CONNECTIONS), O_WRONLY | O_CLOEXEC);
	}
	if (fd < 0)
		return error_errno(err, "cannot open '%s'", path);
	*ret_fd = fd;
	return 0;
}
