/* SPDX-License-Identifier: MIT */
/* Lists a folder, or /sys/class/block. */
#include "members/scan.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/cleanup.h"
#include "datasetfs/format.h"
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

/* Finds the node in /dev of a device; sysfs has ! for the / in a name. */
static bool scan_find_node(const char *name, dev_t number, char *path, size_t size)
{
	struct stat st;
	int length = snprintf(path, size, "/dev/%s", name);

	for (char *at = path; length > 0 && (at = strchr(at, '!'));)
		*at = '/';
	if (stat(path, &st) == 0 && S_ISBLK(st.st_mode) && st.st_rdev == number)
		return true;
	snprintf(path, size, "/dev/block/%u:%u", major(number), minor(number));
	return stat(path, &st) == 0 && S_ISBLK(st.st_mode) && st.st_rdev == number;
}

/* Finds a device that this one is a part of; false: there is none. */
static bool scan_find_holder(const char *device, char *name, size_t size)
{
	char path[PATH_MAX + sizeof("/holders")];
	DIR *folder cleanup(scan_close) = NULL;
	struct dirent *entry;

	snprintf(path, sizeof(path), "%s/holders", device);
	folder = opendir(path);
	while (folder && (entry = readdir(folder)))
		if (entry->d_name[0] != '.')
			return (size_t)snprintf(name, size, "%s", entry->d_name) < size;
	return false;
}

static bool scan_find_number(const char *device, dev_t *ret)
{
	unsigned device_major, device_minor;
	char text[32];

	if (!sysfs_text(device, "dev", text, sizeof(text)) ||
	    sscanf(text, "%u:%u", &device_major, &device_minor) != 2)
		return false;
	*ret = makedev(device_major, device_minor);
	return true;
}

static bool scan_find_device(const char *folder, const char *name, char *path, size_t size)
{
	char device[PATH_MAX], holder[NAME_MAX];
	int64_t sectors;
	dev_t number;

	return (size_t)snprintf(device, sizeof(device), "%s/%s", folder, name) < sizeof(device) &&
	       sysfs_number(device, "size", &sectors) && sectors >= (int64_t)(DSFS_DATA_AT / SCAN_SECTOR) &&
	       scan_find_number(device, &number) && !scan_find_holder(device, holder, sizeof(holder)) &&
	       scan_find_node(name, number, path, size);
}

bool scan_holder(const char *root, dev_t device, char *path, size_t size)
{
	char part[PATH_MAX], whole[PATH_MAX], name[NAME_MAX];
	dev_t number;

	snprintf(part, sizeof(part), "%s/dev/block/%u:%u", root, major(device), minor(device));
	if (!scan_find_holder(part, name, sizeof(name)))
		return false;
	return (size_t)snprintf(whole, sizeof(whole), "%s/holders/%s", part, name) < sizeof(whole) &&
	       scan_find_number(whole, &number) && scan_find_node(name, number, path, size);
}

int scan_devices(const char *root, scan_each each, void *argument, struct error *err)
{
	char where[PATH_MAX], path[PATH_MAX];
	DIR *folder cleanup(scan_close) = NULL;
	struct dirent *entry;
	int r = 0;

	snprintf(where, sizeof(where), "%s/class/block", root);
	folder = opendir(where);
	if (!folder)
		return error_errno(err, "cannot look for members in '%s'", where);
	while (r == 0 && (entry = readdir(folder)))
		if (entry->d_name[0] != '.' && scan_find_device(where, entry->d_name, path, sizeof(path)))
			r = each(argument, path, err);
	return r;
}
