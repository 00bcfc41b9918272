/* SPDX-License-Identifier: MIT */
/* Looks for a device among mounts and swap areas, and asks the kernel whether it is in use. */
#include "device/busy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "device/locate.h"
#include "device/mountinfo.h"

/* Lines of proc_pid_mountinfo(5): mount number, parent, MAJOR:MINOR, root, mount point, … */
static int busy_check_mounts(dev_t device, struct error *err)
{
	auto_fclose FILE *file = fopen("/proc/self/mountinfo", "re");
	auto_free char *line = NULL;
	unsigned device_major, device_minor;
	char where[256];
	size_t room = 0;

	if (!file)
		return error_errno(err, "cannot open '/proc/self/mountinfo'");
	while (getline(&line, &room, file) > 0)
		if (sscanf(line, "%*d %*d %u:%u %*s %255s", &device_major, &device_minor, where) == 3 &&
		    makedev(device_major, device_minor) == device) {
			mountinfo_unescape(where);
			return error_set(err, -EBUSY, "it is mounted on '%s': unmount it first", where);
		}
	return 0;
}

/* Lines of proc_swaps(5); the first is a heading. */
static int busy_check_swaps(dev_t device, struct error *err)
{
	auto_fclose FILE *file = fopen("/proc/swaps", "re");
	auto_free char *line = NULL;
	size_t room = 0;
	struct stat st;

	while (file && getline(&line, &room, file) > 0) {
		line[strcspn(line, " \t")] = 0;
		if (line[0] == '/' && stat(line, &st) == 0 && S_ISBLK(st.st_mode) && st.st_rdev == device)
			return error_set(err, -EBUSY, "it is used for swap");
	}
	return 0;
}

int busy_check(dev_t device, struct error *err)
{
	int r = busy_check_mounts(device, err);

	return r < 0 ? r : busy_check_swaps(device, err);
}

/* A claim of a partition is one of the whole device, too (bd_may_claim() of the kernel's block/bdev.c). */
int busy_check_claimed(const char *node, struct error *err)
{
	auto_close int fd = open(node, O_RDONLY | O_EXCL | O_CLOEXEC);

	if (fd < 0 && errno == EBUSY)
		return error_set(err, -EBUSY,
				 "it or a partition of it is part of LVM or RAID, used for swap, mounted elsewhere, or "
				 "open for publishing");
	return 0;
}

static bool busy_is_volume(const char *volume, dev_t device, bool *ret_exists)
{
	auto_free char *path = NULL;
	struct stat st;

	*ret_exists = locate_path(volume, &path, NULL) == 0 && stat(path, &st) == 0;
	return *ret_exists && S_ISBLK(st.st_mode) && st.st_rdev == device;
}

/* The source of a mount is what the volume was called, with @VERSION behind it when one is pinned.
 * Both may contain '@': the longest name that exists is meant. */
static bool busy_is_source(char *source, dev_t device)
{
	bool exists, is;
	char *at;

	mountinfo_unescape(source);
	is = busy_is_volume(source, device, &exists);
	while (!exists && (at = strrchr(source, '@'))) {
		*at = 0;
		is = busy_is_volume(source, device, &exists);
	}
	return is;
}

int busy_check_served(dev_t device, struct error *err)
{
	static const char kind[] = " - fuse.datasetfs ";
	auto_fclose FILE *file = fopen("/proc/self/mountinfo", "re");
	auto_free char *line = NULL;
	char where[256], *source;
	size_t room = 0;

	if (!file)
		return error_errno(err, "cannot open '/proc/self/mountinfo'");
	while (getline(&line, &room, file) > 0) {
		source = strstr(line, kind);
		if (!source || sscanf(line, "%*d %*d %*s %*s %255s", where) != 1)
			continue;
		source += strlen(kind);
		source[strcspn(source, " ")] = 0;
		if (!busy_is_source(source, device))
			continue;
		mountinfo_unescape(where);
		return error_set(err, -EBUSY, "datasetfs serves it on '%s'", where);
	}
	return 0;
}
