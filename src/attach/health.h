/* SPDX-License-Identifier: MIT */
/* Whether a mount serves. The kernel answers stat(2) and listings of a dead one from its caches, so the daemon itself
 * is asked, by the file control: in a process of its own, as a daemon that hangs lets nobody go who asks it. */
#pragma once
#include "base/error.h"
#include "datasetfs/control.h"

/* Asks the mount which version it serves. -ENOTCONN: it is dead; -ETIMEDOUT: it does not answer within some seconds.
 * The process must have one thread. */
must_check int health_ask(const char *mount, struct dsfs_version_facts *ret, struct error *err);
