/* SPDX-License-Identifier: MIT */
/* The directory where the kubelet wants to see a volume: below its root, made and removed here, and reached without
 * following a link. */
#pragma once
#include <limits.h>
#include <stdbool.h>

#include "base/error.h"

struct target_root {
	const char *given;   /* as the kubelet names it, --root-dir */
	char real[PATH_MAX]; /* where that leads */
};

/* Finds the kubelet's root, which may be a link: that was the administrator's choice. */
must_check int target_find(const char *root, struct target_root *ret, struct error *err);
/* Turns a path of the kubelet into the one to use. -EINVAL: it does not lie below the root, leads out of it, or is too
 * deep. */
must_check int target_path(const struct target_root *root, const char *path, char ret[PATH_MAX], struct error *err);
/* Makes the directory, in one that is there; or finds it. Errors are those of place_open(). */
must_check int target_make(const char *path, struct error *err);
/* Returns false if neither it nor the directory above exists. */
bool target_is_there(const char *path);
/* Removes it, if it is there. -EBUSY, -ENOTEMPTY: something is in it. */
must_check int target_remove(const char *path, struct error *err);
