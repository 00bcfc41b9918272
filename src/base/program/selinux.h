/* SPDX-License-Identifier: MIT */
/* The mount options of SELinux, mount(8), which filesystems hand on to the kernel as they are. */
#pragma once
#include <stdbool.h>

#include "base/error.h"

enum { SELINUX_CONTEXT, SELINUX_FSCONTEXT, SELINUX_DEFCONTEXT, SELINUX_ROOTCONTEXT, SELINUX_OPTIONS };

extern const char *const selinux_names[SELINUX_OPTIONS];

/* Values of the options; NULL: not given. */
struct selinux {
	const char *values[SELINUX_OPTIONS];
};

/* Refuses a value that cannot be quoted for the kernel. */
must_check int selinux_check(const char *value, struct error *err);
bool selinux_has_any(const struct selinux *selinux);
/* Leaves the options out where the kernel has no SELinux, as mount(8) does. Returns whether it did. */
bool selinux_drop(struct selinux *selinux);
