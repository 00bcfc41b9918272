/* SPDX-License-Identifier: MIT */
/* Lists a folder, or /sys/class/block. */
#include "assembly/scan.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "datasetfs/format.h"
#include "device/nvme/devnode.h"
#include "device/nvme/sysfs.h"

#define SCAN_SECTOR 512u /* bytes: unit of sizes in sysfs */

static void scan_close(DIR **folder)
{
	if (*folder)
		closedir(*folder);
}

static bool scan_is_volume(DIR *folder, const char *name)
{
	struct stat st;

	return fstatat(dirfd(folder), name, &st, AT_NO_AUTOMOUNT) == 0 && S_ISREG(st.st_mode) &&
	       st.st_size >= (off_t)DSFS_DATA_AT;
}

int scan_folder(const char *path, scan_each each, void *argument, struct error *err)
{
	const char *slash = strrchr(path, '/');
	auto_free char *where = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup("");
	DIR *folder cleanup(scan_close) = where ? opendir(*where ? where : ".") : NULL;
	char file[PATH_MAX];
	struct dirent *entry;
	int r = 0;

	if (!folder)
		return error_errno(err, "cannot look for members beside '%s'", path);
	while (r == 0 && (entry = readdir(folder)))
		if (scan_is_volume(folder, entry->d_name) &&
		    (size_t)snprintf(file, sizeof(file), "%s%s", where, entry->d_name) < sizeof(file))
			r = each(argument, file, err);
	return r;
}

static int scan_take_first(void *argument, const char *path, const char *name, struct error *err)
{
	(void)name;
	(void)err;
	snprintf(argument, PATH_MAX, "%s", path);
	return 1;
}

/* Finds a device that this one is a part of, as a folder of sysfs; false: there is none. */
static bool scan_find_holder(const char *device, char holder[PATH_MAX])
{
	char folder[PATH_MAX + sizeof("/holders")];

	snprintf(folder, sizeof(folder), "%s/holders", device);
	return sysfs_each(folder, scan_take_first, holder, NULL) > 0;
}

bool scan_holder(const char *root, dev_t device, char *path, size_t size)
{
	char part[PATH_MAX], whole[PATH_MAX];

	snprintf(part, sizeof(part), "%s/dev/block/%u:%u", root, major(device), minor(device));
	return scan_find_holder(part, whole) &&
	       devnode_find(strrchr(whole, '/') + 1, sysfs_device(whole), path, size);
}

/* A scan under way. */
struct scan {
	scan_each each;
	void *argument;
};

static int scan_see_device(void *argument, const char *device, const char *name, struct error *err)
{
	const struct scan *scan = argument;
	char path[PATH_MAX], holder[PATH_MAX];
	int64_t sectors;

	if (!sysfs_number(device, "size", &sectors) || sectors < (int64_t)(DSFS_DATA_AT / SCAN_SECTOR) ||
	    scan_find_holder(device, holder) || !devnode_find(name, sysfs_device(device), path, sizeof(path)))
		return 0;
	return scan->each(scan->argument, path, err);
}

int scan_devices(const char *root, scan_each each, void *argument, struct error *err)
{
	struct scan scan = { each, argument };
	char where[PATH_MAX];

	snprintf(where, sizeof(where), "%s/class/block", root);
	if (access(where, R_OK | X_OK) < 0)
		return error_errno(err, "cannot look for members in '%s'", where);
	return sysfs_each(where, scan_see_device, &scan, err);
}
