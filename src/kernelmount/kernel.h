/* SPDX-License-Identifier: MIT */
/* Mounts a volume that the kernel then serves without a daemon. */
#pragma once
#include "options/mount_options.h"

/* list: the options that are to be kept for switches, as -o takes them, with absolute paths. is_rehearsed: checks
 * everything but mounts nothing. */
must_check int kernel_mount(const struct mount_options *options, const char *list, bool is_rehearsed,
			    struct error *err);
