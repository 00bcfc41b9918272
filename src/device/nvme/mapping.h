/* SPDX-License-Identifier: MIT */
/* Looks through mappings of the device mapper that lie on one device, such as those of dm-crypt and linear ones. What
 * lies on several devices, or is dm-multipath's, counts as a device of its own. */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

#define MAPPING_NAME_SIZE 128u /* DM_NAME_LEN of <linux/dm-ioctl.h> */

struct mapping {
	dev_t device;                 /* 0: there is none */
	char block[32];               /* name of the block device: dm-0 */
	char name[MAPPING_NAME_SIZE]; /* that it was set up with, of /dev/mapper/NAME */
	bool is_crypt;                /* it, or one below it, is dm-crypt's */
};

/* root: the root of sysfs. */

/* Returns the device below the lowest of the mappings that device is; device itself if it is none. */
dev_t mapping_below(const char *root, dev_t device);
/* Whether one of the mappings that device is encrypts. */
bool mapping_is_crypt(const char *root, dev_t device);
/* Whether it is known that none of them encrypts. False also if it is unknown: the lowest lies on several devices or on
 * a file, or is missing from sysfs. */
bool mapping_is_plain(const char *root, dev_t device);
/* Finds the highest of the mappings that lie one on another and on device, which they have for themselves.
 * -EMLINK: several lie beside each other. */
must_check int mapping_above(const char *root, dev_t device, struct mapping *ret, struct error *err);
