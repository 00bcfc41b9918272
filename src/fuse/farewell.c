/* SPDX-License-Identifier: MIT */
/* Names the socket by the filesystem's numbers. The kernel reuses a device number as soon as a filesystem is
 * unmounted, while its server may take a while to close its socket, or hang, so the name includes the inode of the
 * sysfs folder. */
#include "fuse/farewell.h"

#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/log.h"

#define FAREWELL_MODE 0600 /* root, who can unmount everything, and the user who mounted */

struct farewell_prefix {
	char text[RENDEZVOUS_PREFIX];
};

static struct farewell_prefix farewell_prefix(unsigned device_major, unsigned device_minor, ino_t folder)
{
	struct farewell_prefix prefix;

	snprintf(prefix.text, sizeof(prefix.text), "%u:%u:%ju-", device_major, device_minor, (uintmax_t)folder);
	return prefix;
}

ino_t farewell_folder(unsigned device_major, unsigned device_minor)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/sys/class/bdi/%u:%u", device_major, device_minor);
	return stat(path, &st) == 0 ? st.st_ino : 0;
}

struct rendezvous farewell_listen(unsigned device_major, unsigned device_minor)
{
	const struct farewell_prefix prefix = farewell_prefix(device_major, device_minor,
							      farewell_folder(device_major, device_minor));
	struct rendezvous farewell = RENDEZVOUS_NONE;
	struct error err = { 0 };

	if (rendezvous_open(prefix.text, FAREWELL_MODE, &farewell, &err) < 0)
		log_debug("umount(8) will not wait for the daemon to end: %s", err.reason);
	return farewell;
}

int farewell_connect(unsigned device_major, unsigned device_minor, ino_t folder, uid_t server)
{
	return rendezvous_connect(server, farewell_prefix(device_major, device_minor, folder).text);
}
