/* SPDX-License-Identifier: MIT */
/* Owns a version that is reached through a mount, and checks that an inode is of it. */
#pragma once
#include <stdbool.h>

#include "lib/lib.h"

struct mounted_names;

struct mounted_version {
	struct opened opened; /* must be first */
	int mount;            /* O_PATH: the root of the mount, or the folder of it that is mounted alone */
	int root;             /* O_PATH: the version's root; equals mount where it has no directory */
	dev_t device;
	bool is_pinned; /* root is .datasetfs/versions/LABEL, or a folder of a version: a switch changes neither */
	struct mounted_names *names;
};

/* Returns the id of the inode that has these attributes. -ESTALE or -EIO: it is not of this version; -EBADF: it is not
 * of this mount. */
must_check int mounted_version_id(const struct mounted_version *mounted, const struct stat *st, uint64_t *ret,
				  struct error *err);
/* Returns the id for a bare inode number, as a listing gives it. -ESTALE or -EIO: it is not of this version. */
must_check int mounted_version_number(const struct mounted_version *mounted, uint64_t number, uint64_t *ret,
				      struct error *err);
/* Gets the attributes of fd, opened by path, and checks that it is this inode. Errors of mounted_version_id(), and
 * -EIO: it is another inode. */
must_check int mounted_version_expect(const struct mounted_version *mounted, int fd, const char *path, uint64_t id,
				      struct stat *ret_st, struct error *err);
/* Asks the mount whether the paths of this version still lead to it. -ESTALE: they lead to another version by now. */
must_check int mounted_version_check(const struct mounted_version *mounted, struct error *err);
/* Explains a failure r < 0 that a switch of the mount may have caused. Returns -ESTALE if so, else r. */
int mounted_version_settle(const struct mounted_version *mounted, int r, struct error *err);
