/* SPDX-License-Identifier: MIT */
/* Sets the feature Namespace Write Protection Config and checks that the kernel sees the change. */
#include "device/nvme/protect.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "device/nvme/devnode.h"
#include "device/nvme/mapping.h"
#include "device/nvme/nvme.h"
#include "device/nvme/sysfs.h"
#include "device/nvme/topology.h"

#define PROTECT_PATIENCE INT64_C(10000000000) /* ns for the target to notify the kernel and the kernel to rescan */
#define PROTECT_LOOK     50000000             /* ns between two checks */

static bool protect_is_set(int fd)
{
	int state = 0;

	return ioctl(fd, BLKROGET, &state) == 0 && state;
}

/* Looks at the device below a mapping; false if fd is none. */
static bool protect_is_set_below(int fd)
{
	char folder[PATH_MAX];
	int64_t read_only = 0;
	struct stat st;
	dev_t below;

	if (fstat(fd, &st) < 0 || !S_ISBLK(st.st_mode))
		return false;
	below = mapping_below(topology_root(), st.st_rdev);
	if (below == st.st_rdev)
		return false;
	snprintf(folder, sizeof(folder), "%s/dev/block/%u:%u", topology_root(), major(below), minor(below));
	return sysfs_number(folder, "ro", &read_only) && read_only;
}

bool protect_is_read_only(int fd)
{
	return protect_is_set(fd) || protect_is_set_below(fd);
}

bool protect_is_by_mapping(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && protect_is_set(fd) && !protect_is_set_below(fd) &&
	       mapping_below(topology_root(), st.st_rdev) != st.st_rdev;
}

/* Finds the number of the namespace that is open as fd or below the mapping that is. Opens it if it is below one. */
static int protect_find(int fd, uint32_t *ret_nsid, int *ret_below, struct error *err)
{
	auto_topology struct topology topology = { 0 };
	const struct topology_namespace *namespace;
	struct stat st;
	int r;

	if (fstat(fd, &st) < 0)
		return error_errno(err, "fstat");
	r = topology_read(topology_root(), &topology, err);
	if (r < 0)
		return r;
	namespace = S_ISBLK(st.st_mode) ? topology_below(&topology, st.st_rdev) : NULL;
	if (!namespace)
		return error_set(err, -EOPNOTSUPP, "it is not an NVMe namespace, so it cannot be write-protected");
	*ret_nsid = namespace->nsid;
	return devnode_open_below(namespace, st.st_rdev, ret_below, err);
}

int protect_check(int fd, struct error *err)
{
	struct nvme_facts facts;
	auto_close int below = -1;
	uint32_t nsid = 0;
	int r;

	r = protect_find(fd, &nsid, &below, err);
	if (r == 0)
		r = nvme_facts_read(below < 0 ? fd : below, nsid, &facts, err);
	if (r == 0 && !facts.can_protect)
		r = error_set(err, -EOPNOTSUPP, "its target has no write protection");
	return r;
}

int protect_set(int fd, bool on, struct error *err)
{
	int64_t deadline = clock_now() + PROTECT_PATIENCE;
	auto_close int below = -1;
	uint32_t nsid = 0;
	int r;

	r = protect_find(fd, &nsid, &below, err);
	if (r == 0)
		r = nvme_protect(below < 0 ? fd : below, nsid, on, err);
	while (r == 0 && protect_is_set(below < 0 ? fd : below) != on) {
		if (clock_now() >= deadline)
			return error_set(err, -ETIMEDOUT, "the target has %s it, but this host still sees it as %s",
					 on ? "protected" : "released", on ? "writable" : "read-only");
		clock_sleep(PROTECT_LOOK);
	}
	return r;
}
