/* SPDX-License-Identifier: MIT */
/* Tells umount(8) when the daemon has closed everything: a socket at which the daemon listens and never answers.
 * Connecting needs nothing from the daemon, so one that hangs does not block others; when the daemon closes the socket,
 * the connection breaks. */
#pragma once
#include <sys/types.h>

#include "base/rendezvous.h"

/* Inode of the folder that the filesystem with this device number has in sysfs: no other filesystem gets it, as one may
 * get the number. 0: it has none. */
ino_t farewell_folder(unsigned device_major, unsigned device_minor);
/* For the filesystem with this device number. RENDEZVOUS_NONE when it cannot be had: then nobody waits. */
struct rendezvous farewell_listen(unsigned device_major, unsigned device_minor);
/* A connection to it, only to be polled, if it is this user's or root's; -1 when there is none. */
int farewell_connect(unsigned device_major, unsigned device_minor, ino_t folder, uid_t server);
