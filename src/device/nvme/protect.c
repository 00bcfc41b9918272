/* SPDX-License-Identifier: MIT */
/* Sets the feature Namespace Write Protection Config and checks that the kernel sees the change. */
#include "device/nvme/protect.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "device/nvme/nvme.h"
#include "device/nvme/topology.h"

#define PROTECT_PATIENCE INT64_C(10000000000) /* ns for the target to notify the kernel and the kernel to rescan */
#define PROTECT_LOOK     50000000             /* ns between two checks */

bool protect_is_read_only(int fd)
{
	int state = 0;

	return ioctl(fd, BLKROGET, &state) == 0 && state;
}

/* Finds the number of the namespace open as fd. */
static int protect_find(int fd, uint32_t *ret_nsid, struct error *err)
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
	namespace = S_ISBLK(st.st_mode) ? topology_by_device(&topology, st.st_rdev) : NULL;
	if (!namespace)
		return error_set(err, -EOPNOTSUPP, "it is not an NVMe namespace, so it cannot be write-protected");
	*ret_nsid = namespace->nsid;
	return 0;
}

int protect_check(int fd, struct error *err)
{
	struct nvme_facts facts;
	uint32_t nsid = 0;
	int r;

	r = protect_find(fd, &nsid, err);
	if (r == 0)
		r = nvme_facts_read(fd, nsid, &facts, err);
	if (r == 0 && !facts.can_protect)
		r = error_set(err, -EOPNOTSUPP, "its target has no write protection");
	return r;
}

int protect_set(int fd, bool on, struct error *err)
{
	const struct timespec pause = { .tv_nsec = PROTECT_LOOK };
	int64_t deadline = clock_now() + PROTECT_PATIENCE;
	uint32_t nsid = 0;
	int r;

	r = protect_find(fd, &nsid, err);
	if (r == 0)
		r = nvme_protect(fd, nsid, on, err);
	while (r == 0 && protect_is_read_only(fd) != on) {
		if (clock_now() >= deadline)
			return error_set(err, -ETIMEDOUT, "the target has %s it, but this host still sees it as %s",
					 on ? "protected" : "released", on ? "writable" : "read-only");
		nanosleep(&pause, NULL);
	}
	return r;
}
