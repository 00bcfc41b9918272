/* SPDX-License-Identifier: MIT */
/* Opens in two steps that follow no link. */
#include "device/dotfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "datasetfs/control.h"

#define DOTFILE_FLAGS (O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)

int dotfile_open(const char *mount, const char *name, int *ret, struct error *err)
{
	auto_free char *path = NULL;
	auto_close int folder = -1;

	if (asprintf(&path, "%s/" DSFS_CONTROL_FOLDER, mount) < 0) {
		path = NULL;
		return error_no_memory(err);
	}
	folder = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (folder < 0)
		return error_errno(err, "cannot open '%s'", path);
	*ret = openat(folder, name, DOTFILE_FLAGS);
	return *ret < 0 ? error_errno(err, "cannot open '%s/%s'", path, name) : 0;
}
