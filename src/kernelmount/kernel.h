/* SPDX-License-Identifier: MIT */
/* Mounts a volume that the kernel then serves without a daemon. */
#pragma once
#include "options/mount_options.h"

/* Uses only the options volume, mountpoint, version, digest, noexec and suid. is_rehearsed: checks everything but
 * mounts nothing. */
must_check int kernel_mount(const struct mount_options *options, bool is_rehearsed, struct error *err);
