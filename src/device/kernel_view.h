/* SPDX-License-Identifier: MIT */
/* Tells what is known of a mount by the kernel, which has no process to ask. */
#pragma once
#include <sys/types.h>

#include "device/activity.h"
#include "device/mount_record.h"

struct kernel_view {
	struct mount_record record; /* what all may know */
	uint64_t image_bytes;       /* of its metadata, in memory */
	struct activity *devices;   /* of the members: reads since the version was mounted, also those of others */
	int count;
	unsigned gone; /* members whose devices are gone for good: reads of them fail */
};

/* Looks at the mount of this device on point. -ENOENT: it has no record, or another mount is there; -EOPNOTSUPP: the
 * kernel has no ids of mounts. */
must_check int kernel_view_read(const char *point, dev_t device, struct kernel_view *ret, struct error *err);
void kernel_view_free(struct kernel_view *view); /* frees the contents */
/* Adds up what the devices have read. */
struct activity kernel_view_sum(const struct kernel_view *view);

#define auto_kernel_view cleanup(kernel_view_free)
