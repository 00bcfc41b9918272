/* SPDX-License-Identifier: MIT */
/* Mounts an EROFS from an image and further devices. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/program/selinux.h"

struct fsmount {
	const char *image;          /* block device of the image */
	const char *const *devices; /* the other block devices, in the order of their slots */
	uint32_t count;
	bool noexec, suid, nosymfollow;
	const struct selinux *selinux;
};

/* Creates a mount that is not visible anywhere yet; *ret_tree is its descriptor. The kernel holds the devices until the
 * mount ends. On failure err includes the kernel's own message, if there is one. */
must_check int fsmount_create(const struct fsmount *setup, int *ret_tree, struct error *err);
/* Moves the tree to the mountpoint, where it stays after the descriptor is closed. */
must_check int fsmount_show(int tree, const char *mountpoint, struct error *err);
