/* SPDX-License-Identifier: MIT */
/* The reads of block devices, as the kernel counts them for all of their users. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "device/nvme/sysfs.h"

struct activity {
	char name[SYSFS_NAME_SIZE]; /* of the device, "nvme0n1" */
	uint64_t reads, bytes;
	uint64_t waited;            /* ms that these reads took, added up */
	uint64_t in_flight;         /* reads and writes that are under way */
	uint64_t disk;              /* number that no other disk has had (diskseq); 0: none, as a partition */
};

/* Reads the counters of the device in activity->name. False: it is gone. */
bool activity_read(struct activity *activity);
/* Appends the counters to the list as one word; NULL: no memory. The list is for free(3). */
char *activity_add(char *list, const struct activity *activity);
/* Reads the devices of such a list as they are now, less the counters there. Returns how many are in *ret, for
 * free(3); *ret_gone are gone, even if another one has their name. A negative errno: no memory. */
int activity_since(const char *list, struct activity **ret, unsigned *ret_gone, struct error *err);
