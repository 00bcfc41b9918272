/* SPDX-License-Identifier: MIT */
/* Connects a client to the daemon of a mount, before its first request. */
#pragma once
#include "base/error.h"

/* Connects to the daemon whose socket is at path, which is no longer than sockaddr_un has room for, and returns when it
 * has greeted. timeout: ms for each step. -EPERM: it is neither root's nor the caller's, or it refuses the caller;
 * -ECONNREFUSED, -ENOENT: no daemon listens there any more. */
must_check int meeting_connect(const char *path, int timeout, int *ret_fd, struct error *err);
