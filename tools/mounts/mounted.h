/* SPDX-License-Identifier: MIT */
/* Finds mounts of datasetfs in /proc/self/mountinfo. */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

struct mounted {
	char *source; /* as the mount names it: the volume, with "@LABEL" if the version is pinned */
	char *point;  /* the mountpoint */
	dev_t device;
	char *label;  /* of the version that the kernel serves by itself, "" if unknown; NULL: a daemon serves */
};

/* Finds the mount on which path lies, also while the kernel switches it. flags: how statx(2) looks at the path.
 * -ENOENT: it is no mount of datasetfs. */
must_check int mounted_at(const char *path, int flags, struct mounted *ret, struct error *err);
/* A callback for each mount. The struct is valid only during the call. */
typedef int mounted_visit(void *argument, const struct mounted *mounted, struct error *err);
/* Calls visit for each mount, in the order of the mount table, but last for those that the caller may not reach, until
 * one call does not return 0; returns its result. */
must_check int mounted_each(mounted_visit *visit, void *argument, struct error *err);
/* The same, but calls visit once for each filesystem, with the first of its places. */
must_check int mounted_each_once(mounted_visit *visit, void *argument, struct error *err);
/* Makes a name absolute and removes slashes at its end. Resolves nothing else, because following links would touch the
 * mount. The caller frees *ret. */
must_check int mounted_absolute(const char *name, char **ret, struct error *err);
/* Copies a mount. The caller frees *ret with mounted_free(). */
must_check int mounted_copy(const struct mounted *mounted, struct mounted *ret, struct error *err);
/* Finds the path of a mount's volume from its source: the whole source, or the longest part of it before an '@' that
 * exists. The caller frees *ret. */
must_check int mounted_volume(const char *source, char **ret, struct error *err);
/* Finds the path of a volume by the name that a mount has for it, an absolute path or an identity. False: it does not
 * exist. The caller frees *ret. */
bool mounted_reach(const char *volume, char **ret);
void mounted_free(struct mounted *mounted); /* frees its contents only */
