/* SPDX-License-Identifier: MIT */
/* A version that is reached through a mount. */
#pragma once
#include <stdbool.h>

#include "lib/lib.h"

struct mounted_names;

struct mounted {
	struct opened opened; /* the first member */
	int mount;            /* O_PATH: the root of the mount, */
	int root;             /* and of the version. The same number where the version has no directory of its own */
	dev_t device;
	bool is_pinned; /* it has: .datasetfs/versions/LABEL, which stays what it is when the mount switches */
	struct mounted_names *names;
};

/* The id of what has these attributes: -ESTALE or -EIO when it is not of this version, -EBADF when it is not of this
 * mount. */
must_check int mounted_version_id(const struct mounted *mounted, const struct stat *st, uint64_t *ret,
				  struct error *err);
/* The same of a number alone, which a listing has. */
must_check int mounted_version_number(const struct mounted *mounted, uint64_t number, uint64_t *ret,
				      struct error *err);
/* Whether what was opened by this path is the inode that was asked for: errors as above, and -EIO. */
must_check int mounted_version_expect(const struct mounted *mounted, int fd, const char *path, uint64_t id,
				      struct stat *ret_st, struct error *err);
/* -ESTALE when the paths of this version lead to another one by now. Asks the mount. */
must_check int mounted_version_check(const struct mounted *mounted, struct error *err);
/* For what failed (r < 0), and may have done so because of that. Returns r, or -ESTALE. */
int mounted_version_settle(const struct mounted *mounted, int r, struct error *err);
