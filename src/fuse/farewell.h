/* SPDX-License-Identifier: MIT */
/* How who unmounts learns that the server has let go of everything: a socket that the server listens at, and
 * never answers. To connect takes nothing of the server, so one that hangs does not hang others; when it
 * closes, the connection breaks. */
#pragma once
#include <sys/types.h>

/* For the filesystem with this device number: the server's end. -1 when it cannot be had: then nobody waits. */
int farewell_listen(unsigned device_major, unsigned device_minor);
/* A connection to it, if it is this user's or root's; -1: there is none in this network namespace.
 * Only to be polled. */
int farewell_connect(unsigned device_major, unsigned device_minor, uid_t server);
