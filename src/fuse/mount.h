/* SPDX-License-Identifier: MIT */
/* Mounts a FUSE filesystem on a directory and unmounts it. It does not know the contents: a server needs only the
 * descriptor. The only user of libfuse. */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/program/rendezvous.h"
#include "base/program/selinux.h"

struct mount_setup {
	const char *source; /* first field of /proc/mounts */
	bool allow_other;
	bool noexec;
	bool suid; /* only for root */
	bool nosymfollow; /* only for root */
	const struct selinux *selinux;
};

struct mount;

/* The name of a mount that another program made and whose /dev/fuse this program inherits: this and the number. */
#define MOUNT_GIVEN "/dev/fd/"

/* A successor's part of a mount beside its descriptors, see mount_adopt(). */
struct mount_kept {
	unsigned device_major, device_minor;
	bool noted; /* in utab */
	char farewell_name[sizeof(((struct rendezvous *)0)->name)]; /* of the socket, and its path; "": there is none */
	char farewell_path[sizeof(((struct rendezvous *)0)->path)];
};

/* Mounts by mount(2) as root, else through fusermount3. */
must_check int mount_open(const char *mountpoint, const struct mount_setup *setup, struct mount **ret,
			    struct error *err);
/* Takes such a mount. It keeps the options that it was mounted with, and this process cannot unmount it. Closes fuse in
 * the end. The kernel says which filesystem it is (Linux 6.16), else mount_device() is 0. */
must_check int mount_take(const char *mountpoint, const char *source, int fuse, struct mount **ret, struct error *err);
bool mount_is_given(const struct mount *mount);
/* Takes over the mount of another process, without touching the mountpoint: it may have no server now. Closes the three
 * descriptors in the end, also after an error; the last two may be -1. -EPROTO: a text of *kept has no end. */
must_check int mount_adopt(const char *mountpoint, const char *source, const struct mount_kept *kept, int fuse,
			   int farewell_folder, int farewell_listener, struct mount **ret, struct error *err);
/* Returns the facts for a successor, and the rendezvous with the folder and listener that it needs (RENDEZVOUS_NONE if
 * there are none). */
void mount_keep(const struct mount *mount, struct mount_kept *ret);
const struct rendezvous *mount_rendezvous(const struct mount *mount);
int mount_fd(const struct mount *mount); /* /dev/fuse; closed by mount_free() */
const char *mount_source(const struct mount *mount); /* first field of /proc/mounts */
dev_t mount_device(const struct mount *mount); /* of the filesystem */
unsigned mount_device_minor(const struct mount *mount); /* of the filesystem: the number of its connection */
/* Enters the mount in utab (base/program/utab.h), so that umount(8) waits until the server has ended. Call it while
 * serving. */
void mount_note(struct mount *mount);
/* Unmounts. -EBUSY if the mount is in use, unless lazy: then it disappears at once and ends with its last user. Returns
 * 0 also if it is no longer mounted, or not ours to unmount. */
must_check int mount_unmount(struct mount *mount, bool lazy, struct error *err);
bool mount_is_over(const struct mount *mount); /* true: no request can come any more */
/* Tells a waiting umount(8) that the server has closed everything. */
void mount_farewell(struct mount *mount);
void mount_free(struct mount *mount);
