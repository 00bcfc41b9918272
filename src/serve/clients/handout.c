/* SPDX-License-Identifier: MIT */
/* Clones the mount on which the file lies, which needs CAP_SYS_ADMIN and Linux 5.12. */
#include "serve/clients/handout.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "base/cleanup.h"
#include "base/fdname.h"

int handout_reopen(int fd, int flags, const char *what, int *ret, struct error *err)
{
	*ret = fdname_reopen(fd, O_RDONLY | flags);
	return *ret < 0 ? error_errno(err, "cannot open %s again", what) : 0;
}

/* With an ACL the bits of the group are the most that any of its entries has. */
static bool handout_is_writable(const struct credentials *peer, int fd, const struct stat *st)
{
	if (st->st_uid == peer->uid || st->st_mode & S_IWOTH)
		return true;
	return st->st_mode & S_IWGRP && (credentials_has_group(peer, st->st_gid) ||
					 fgetxattr(fd, "system.posix_acl_access", NULL, 0) >= 0);
}

static int handout_check(const struct credentials *peer, int fd, const char *what, struct error *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return error_errno(err, "%s", what);
	if (!handout_is_writable(peer, fd, &st))
		return 0;
	return error_set(err, -EPERM, "user %u could write to %s, which belongs to user %u and group %u and has the "
			 "mode %04o", (unsigned)peer->uid, what, (unsigned)st.st_uid, (unsigned)st.st_gid,
			 (unsigned)st.st_mode & 07777);
}

/* Forbids devices only once ours is open. */
static int handout_restrict(int tree)
{
	struct mount_attr attributes = { .attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NODEV };

	return mount_setattr(tree, "", AT_EMPTY_PATH, &attributes, sizeof(attributes));
}

int handout_open(const struct credentials *peer, int fd, int flags, const char *what, int *ret, struct error *err)
{
	auto_close int tree = -1, opened = -1;
	int r;

	if (!peer->is_member)
		return handout_reopen(fd, flags, what, ret, err);
	tree = open_tree(fd, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH);
	r = handout_reopen(tree < 0 ? fd : tree, flags, what, &opened, err);
	if (r == 0 && (tree < 0 || handout_restrict(tree) < 0))
		r = handout_check(peer, opened, what, err);
	if (r == 0)
		*ret = take_fd(&opened);
	return r;
}
