/* SPDX-License-Identifier: MIT */
/* Tells umount(8) when the daemon has closed everything: a socket at which the daemon listens and never answers.
 * Connecting needs nothing from the daemon, so one that hangs does not block others; when the daemon closes the socket,
 * the connection breaks. */
#pragma once
#include <sys/types.h>

#define FAREWELL_NAMES 4 /* servers at a time whose filesystems have or had one device number */

/* For the filesystem with this device number: the server's end. -1 when it cannot be had: then nobody waits. */
int farewell_listen(unsigned device_major, unsigned device_minor);
/* Connections to it, if it is this user's or root's, and to those of filesystems that had the number before and whose
 * servers are still ending. Each fd is one, only to be polled, or -1: there is none in this network namespace. */
void farewell_connect(unsigned device_major, unsigned device_minor, uid_t server, int fds[FAREWELL_NAMES]);
