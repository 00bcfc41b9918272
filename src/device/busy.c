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
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mountinfo.h"
#include "device/locate.h"
#include "device/nvme/mapping.h"

static int busy_see_mount(void *device, const struct mountinfo *info, struct error *err)
{
	if (info->device != *(const dev_t *)device)
		return 0;
	return error_set(err, -EBUSY, "it is mounted on '%s': unmount it first", info->point);
}

/* Reads the lines of proc_swaps(5); the first is a heading. */
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
	int r = mountinfo_each(busy_see_mount, &device, err);

	return r < 0 ? r : busy_check_swaps(device, err);
}

/* A claimed partition also claims the whole device (bd_may_claim() in the kernel's block/bdev.c). */
int busy_check_claimed(const char *node, struct error *err)
{
	auto_close int fd = open(node, O_RDONLY | O_EXCL | O_CLOEXEC);
	struct mapping mapping = { .device = 0 };
	struct stat st;

	if (fd >= 0 || errno != EBUSY)
		return 0;
	if (stat(node, &st) == 0 && mapping_above(topology_root(), st.st_rdev, &mapping, NULL) == 0 && mapping.device)
		return error_set(err, -EBUSY, "the mapping '%s' lies on it: '%s' closes that", mapping.name,
				 mapping.is_crypt ? "cryptsetup close" : "dmsetup remove");
	return error_set(err, -EBUSY,
			 "it or a partition of it is part of LVM or RAID, encrypted, used for swap, mounted elsewhere, "
			 "or open for publishing");
}

static bool busy_is_volume(const char *volume, dev_t device, bool *ret_exists)
{
	auto_free char *path = NULL;
	struct stat st;

	*ret_exists = locate_path(volume, &path, NULL) == 0 && stat(path, &st) == 0;
	return *ret_exists && S_ISBLK(st.st_mode) &&
	       (st.st_rdev == device || topology_whole(topology_root(), st.st_rdev) == device);
}

/* A mount's source is the name of the volume, followed by @VERSION if a version is pinned. Both parts may contain
 * '@', so the longest prefix that exists is taken as the volume. */
static bool busy_is_source(char *source, dev_t device)
{
	bool exists, is;
	char *at;

	is = busy_is_volume(source, device, &exists);
	while (!exists && (at = strrchr(source, '@'))) {
		*at = 0;
		is = busy_is_volume(source, device, &exists);
	}
	return is;
}

static int busy_see_served(void *device, const struct mountinfo *info, struct error *err)
{
	if (strcmp(info->type, MOUNTINFO_OURS) != 0 || !busy_is_source(info->source, *(const dev_t *)device))
		return 0;
	return error_set(err, -EBUSY, "datasetfs serves it on '%s'", info->point);
}

int busy_check_served(dev_t device, struct error *err)
{
	return mountinfo_each(busy_see_served, &device, err);
}
