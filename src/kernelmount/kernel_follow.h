/* SPDX-License-Identifier: MIT */
/* Has a mount that the kernel serves follow the volume's current version. */
#pragma once
#include "base/error.h"

/* Looks at the volume as often as the mount option follow= says, or every five seconds, and switches the mount as a
 * daemon would. Returns 0 when it is not mounted any more, also if another one is there; logs what fails, and goes on.
 * May be killed at any moment: all that it knows is in the record of the mount. */
must_check int kernel_follow(const char *mountpoint, struct error *err);
