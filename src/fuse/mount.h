/* SPDX-License-Identifier: MIT */
/* Mounts a FUSE filesystem on a directory and unmounts it. It does not know what is served: a server needs only the
 * descriptor. The only user of libfuse. */
#pragma once
#include <stdbool.h>

#include "base/error.h"

struct mount_setup {
	const char *source; /* first field of /proc/mounts */
	bool allow_other;
	bool noexec;
	bool suid; /* only for root */
};

struct mount;

/* Mounts by mount(2) as root, else through fusermount3. */
must_check int mount_open(const char *mountpoint, const struct mount_setup *setup, struct mount **ret,
			    struct error *err);
int mount_fd(const struct mount *mount); /* /dev/fuse; closed by mount_free() */
unsigned mount_device_minor(const struct mount *mount); /* of the filesystem: the number of its connection */
/* Enters the mount in utab (utab.h), so that umount(8) waits until the server has ended. Call it while serving. */
void mount_note(struct mount *mount);
/* Unmounts. -EBUSY if the mount is in use, unless lazy: then it disappears at once and ends with its last user. Returns
 * 0 also if it is no longer mounted. */
must_check int mount_unmount(struct mount *mount, bool lazy, struct error *err);
bool mount_is_over(const struct mount *mount); /* true: nobody can make a request any more */
/* Tells a waiting umount(8) that the server has closed everything. */
void mount_farewell(struct mount *mount);
void mount_free(struct mount *mount);
