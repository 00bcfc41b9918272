/* SPDX-License-Identifier: MIT */
/* Mounts of datasetfs, found in /proc/self/mountinfo. */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

struct mounted {
	char *source; /* as the mount names it: the volume, "@LABEL" after it where the version is pinned */
	char *point;  /* the mountpoint */
	dev_t device;
	char *label;  /* of the version that the kernel serves by itself, "" if unknown; NULL: a daemon serves */
};

/* The mount whose device number is device. -ENOENT when it is none of ours. */
must_check int mounted_find(dev_t device, struct mounted *ret, struct error *err);
/* Calls visit for each mount, in the order of the mount table, until it returns something other than 0, which is passed
 * on. The struct is valid only during the call. */
typedef int mounted_visit(void *argument, const struct mounted *mounted, struct error *err);
must_check int mounted_each(mounted_visit *visit, void *argument, struct error *err);
/* Makes a name absolute and removes slashes at its end. Resolves nothing else, because following links would touch the
 * mount. The caller frees *ret. */
must_check int mounted_absolute(const char *name, char **ret, struct error *err);
/* mounted_free() it. */
must_check int mounted_copy(const struct mounted *mounted, struct mounted *ret, struct error *err);
/* The path of a mount's volume: its source, or what stands before an '@' in it when only that exists.
 * free() it. */
must_check int mounted_volume(const char *source, char **ret, struct error *err);
/* The path of a volume that a mount names: absolute, or an identity. False when there is nothing. free() it. */
bool mounted_reach(const char *volume, char **ret);
void mounted_free(struct mounted *mounted); /* its contents */
