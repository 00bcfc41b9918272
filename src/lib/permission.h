/* SPDX-License-Identifier: MIT */
/* Decides whether the caller may read a file or search a directory, as the mount would with default_permissions. */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"
#include "image/inode.h"

/* The caller's credentials, fetched when they first matter. Belongs to one thread and one call; the caller zeroes
 * it. */
struct permission {
	bool is_known;
	bool has_all; /* by its capabilities; the fields below are then not filled in */
	uid_t uid;
	gid_t gid;
	int group_count;
	gid_t *groups;
};

enum permission_kind { PERMISSION_SEARCH = 1, PERMISSION_READ = 4 };

/* Whether user, group and others all have this permission, so that credentials do not matter. */
static inline bool permission_is_everybodys(const struct inode *inode, enum permission_kind kind)
{
	const unsigned everybody = (unsigned)kind * 0111u;

	return (inode->mode & everybody) == everybody;
}

/* Checks that the caller has this permission; -EACCES: it has not. */
must_check int permission_check(struct permission *permission, const struct inode *inode, enum permission_kind kind,
				struct error *err);
/* Forgets the credentials: the next call may be another user's. */
void permission_end(struct permission *permission);
