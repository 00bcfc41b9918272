/* SPDX-License-Identifier: MIT */
/* Tells umount(8) when the daemon has closed everything, by a socket at which the daemon listens and never answers.
 * Connecting needs nothing from the daemon, so one that hangs does not block others; when the daemon closes the socket,
 * the connection breaks. */
#pragma once
#include <sys/types.h>

#include "base/program/rendezvous.h"

/* Returns the inode of the filesystem's folder in sysfs. No other filesystem gets it, while its device number may be
 * reused. 0: it has none. */
ino_t farewell_folder(unsigned device_major, unsigned device_minor);
/* Listens for the filesystem with this device number. RENDEZVOUS_NONE on failure: then nobody waits. */
struct rendezvous farewell_listen(unsigned device_major, unsigned device_minor);
/* Connects to the socket, only for polling, if it belongs to the user server or root; -1 if there is none. */
int farewell_connect(unsigned device_major, unsigned device_minor, ino_t folder, uid_t server);
