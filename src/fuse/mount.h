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
	bool suid; /* root's to ask for */
};

struct mount;

/* As root by mount(2), else through fusermount3. */
must_check int mount_attach(const char *mountpoint, const struct mount_setup *setup, struct mount **ret,
			    struct error *err);
int mount_fd(const struct mount *mount); /* /dev/fuse; closed by mount_free() */
unsigned mount_device_minor(const struct mount *mount); /* of the filesystem: the number of its connection */
/* So that umount(8) waits for the server's end, see utab.h. While it serves. */
void mount_note(struct mount *mount);
/* -EBUSY while it is used, unless lazy: then it disappears at once and ends when its last user does.
 * 0 too when it is no longer mounted. */
must_check int mount_detach(struct mount *mount, bool lazy, struct error *err);
bool mount_is_over(const struct mount *mount); /* nobody can make a request any more */
/* Nothing of what is served is open any more: who waits for that learns it. */
void mount_farewell(struct mount *mount);
void mount_free(struct mount *mount);
