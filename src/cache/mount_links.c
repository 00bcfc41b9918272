/* SPDX-License-Identifier: MIT */
/* Reads the links, and follows none. */
#include "cache/mount_links.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cache/folder.h"

int mount_links_add(int volume, const char *name, const char *path, struct error *err)
{
	auto_close int folder = -1;
	int r = folder_make(volume, FOLDER_MOUNTS, &folder, err);

	if (r < 0)
		return r;
	if (symlinkat(path, folder, name) < 0 && errno != EEXIST)
		return error_errno(err, "cannot make the link '%s'", name);
	return 0;
}

void mount_links_remove(int volume, const char *name)
{
	auto_close int folder = -1;

	if (folder_enter(volume, FOLDER_MOUNTS, &folder, NULL) == 0)
		unlinkat(folder, name, 0);
}

struct mount_links_visit {
	int (*each)(void *argument, const char *name, const char *path, struct error *err);
	void *argument;
};

static int mount_links_visit(void *argument, int folder, const char *name, struct error *err)
{
	const struct mount_links_visit *visit = argument;
	char path[MOUNT_LINKS_PATH];
	ssize_t length = readlinkat(folder, name, path, sizeof(path));

	if (length <= 0 || length == sizeof(path))
		return 0;
	path[length] = 0;
	return visit->each(visit->argument, name, path, err);
}

int mount_links_each(int volume, int (*each)(void *argument, const char *name, const char *path, struct error *err),
		     void *argument, struct error *err)
{
	struct mount_links_visit visit = { each, argument };
	auto_close int folder = -1;
	struct error why = { 0 };
	int r = folder_enter(volume, FOLDER_MOUNTS, &folder, &why);

	if (r == -ENOENT)
		return 0;
	return r < 0 ? error_pass(err, r, &why) : folder_each(folder, mount_links_visit, &visit, err);
}
