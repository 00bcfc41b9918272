/* SPDX-License-Identifier: MIT */
/* Mounts an EROFS from an image and further devices. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct attach {
	const char *mountpoint;
	const char *image;          /* block devices: of the image, */
	const char *const *devices; /* and of the others, in the order of their slots */
	uint32_t count;
	bool noexec, suid;
};

/* Makes the mount, which nobody sees yet. From now on the kernel holds the devices, until the tree is closed. On
 * failure err includes the kernel's own message, if it has one. */
must_check int attach_create(const struct attach *attach, int *ret_tree, struct error *err);
/* Puts it on the mountpoint, where it stays after the tree is closed. */
must_check int attach_show(const struct attach *attach, int tree, struct error *err);
