/* SPDX-License-Identifier: MIT */
/* Whether the caller may read a file or search a directory, as the mount would decide with default_permissions. */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"
#include "image/inode.h"

/* Who calls; asked for when it first matters. Of one thread and one call; zeroed before. */
struct permission {
	bool is_known;
	bool has_all; /* by its capabilities; then nothing of what follows is filled in */
	uid_t uid;
	gid_t gid;
	int group_count;
	gid_t *groups;
};

enum permission_kind { PERMISSION_SEARCH = 1, PERMISSION_READ = 4 };

/* Whoever asks may. */
static inline bool permission_is_everybodys(const struct inode *inode, enum permission_kind kind)
{
	const unsigned everybody = (unsigned)kind * 0111u;

	return (inode->mode & everybody) == everybody;
}

/* -EACCES: no. */
must_check int permission_check(struct permission *permission, const struct inode *inode, enum permission_kind kind,
				struct error *err);
/* The next question is another call's, and perhaps another user's. */
void permission_end(struct permission *permission);
