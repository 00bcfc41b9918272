/* SPDX-License-Identifier: MIT */
/* Tells umount(8) when the daemon has closed everything, by a socket on which the daemon listens but never accepts. The
 * kernel completes the connection, so a daemon that hangs blocks no umount(8); when the daemon closes the socket, the
 * connection breaks. */
#pragma once
#include <sys/types.h>

#include "base/program/rendezvous.h"

/* Returns the inode number of the filesystem's folder in sysfs. It is never reused for another filesystem, as the
 * device number may be. 0: there is no folder. */
ino_t farewell_folder(unsigned device_major, unsigned device_minor);
/* Listens for the filesystem with this device number. RENDEZVOUS_NONE on failure: umount(8) then does not wait. */
struct rendezvous farewell_listen(unsigned device_major, unsigned device_minor);
/* Connects to the filesystem's socket if its owner is the user `server` or root. Returns a descriptor, only for
 * poll(2); -1 if there is no such socket. folder: from farewell_folder(). */
int farewell_connect(unsigned device_major, unsigned device_minor, ino_t folder, uid_t server);
