/* SPDX-License-Identifier: MIT */
/* Starts the process that has a mount by the kernel follow its volume. */
#pragma once
#include "base/error.h"

/* Starts the unit datasetfs-follow@ where systemd runs, else a process of ours. Returns 0 if that was done, and 1 in
 * the process of ours, which has nothing open yet. */
must_check int follower_start(const char *mountpoint, struct error *err);
