/* SPDX-License-Identifier: MIT */
/* The mounts that use a volume's folder: a link for each, named after its socket, that leads to the socket. */
#pragma once
#include <sys/un.h>

#include "base/error.h"

#define MOUNT_LINKS_PATH (sizeof(((struct sockaddr_un *)0)->sun_path)) /* bytes of a path, including its NUL */

/* Adds a mount; it may be there already. */
must_check int mount_links_add(int volume, const char *name, const char *path, struct error *err);
void mount_links_remove(int volume, const char *name);
/* Calls each for all mounts, until it returns other than 0. Returns what it returned last. */
must_check int mount_links_each(int volume, int (*each)(void *argument, const char *name, const char *path,
							struct error *err), void *argument, struct error *err);
