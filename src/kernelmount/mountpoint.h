/* SPDX-License-Identifier: MIT */
/* The mountpoint of a mount by the kernel, where another mount takes its place. */
#pragma once
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "base/error.h"

struct mountpoint {
	int fd;            /* O_PATH: the root of the mount on top */
	int folder;        /* O_PATH: the directory with the mountpoint */
	uint64_t id;       /* of the mount; the kernel gives it to no other one until the machine stops */
	uint64_t number;   /* of the mount in the table; the kernel gives it to others later */
	dev_t device;      /* of its filesystem */
	dev_t beneath;     /* of that of the mount right below, on the same mountpoint; 0: there is none */
	char path[PATH_MAX];
};

#define MOUNTPOINT_NONE ((struct mountpoint){ .fd = -1, .folder = -1 })
#define auto_mountpoint cleanup(mountpoint_close)

/* Finds the mount on which path lies, and its mountpoint. -ENOENT: the table lacks it, as it was unmounted or lies in
 * another mount namespace; -EBUSY: something else is mounted over it, or in it, and would go with it; -EOPNOTSUPP: the
 * kernel can put nothing below such a mount. */
must_check int mountpoint_open(const char *path, struct mountpoint *ret, struct error *err);
void mountpoint_close(struct mountpoint *mountpoint);
/* Waits until no other program mounts there, and opens the mountpoint again, as it may have done so. *ret_lock is to be
 * closed; the lock needs a folder of runtime_open(). */
must_check int mountpoint_lock(struct mountpoint *mountpoint, int *ret_lock, struct error *err);
must_check int mountpoint_renew(struct mountpoint *mountpoint, struct error *err); /* opens it again */

/* Puts the tree into the place of the mount on top: at each moment paths lead to one of them. What is open stays so. On
 * failure nothing has changed, unless *ret_is_below: then the tree is mounted below, as something was mounted over the
 * old one, or in it, just before. -ENOENT: the old one was unmounted. */
must_check int mountpoint_exchange(const struct mountpoint *mountpoint, int tree, bool *ret_is_below,
				   struct error *err);
/* Detaches the mount on top, and no other one, so that the one right below is seen. -ENOENT: it was unmounted. */
must_check int mountpoint_detach(const struct mountpoint *mountpoint, struct error *err);
