/* SPDX-License-Identifier: MIT */
/* Listens at an abstract AF_UNIX socket (unix(7)), which needs no file and disappears with its process. */
#include "fuse/farewell.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/cleanup.h"
#include "base/log.h"

#define FAREWELL_WAITING 64 /* connections at a time */

/* The kernel gives a number to the next filesystem as soon as it has unmounted the one before, whose server may take a
 * while to close its socket: so there are other names. */
static socklen_t farewell_address(unsigned device_major, unsigned device_minor, unsigned name, struct sockaddr_un *ret)
{
	char other[8] = "";
	int length;

	if (name)
		snprintf(other, sizeof(other), "/%u", name);
	*ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
	length = snprintf(ret->sun_path + 1, sizeof(ret->sun_path) - 1, "datasetfs/%u:%u%s", device_major,
			  device_minor, other);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

int farewell_listen(unsigned device_major, unsigned device_minor)
{
	auto_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un address;
	socklen_t length;
	int r = -1;

	for (unsigned i = 0; i < FAREWELL_NAMES && fd >= 0 && r < 0; i++) {
		length = farewell_address(device_major, device_minor, i, &address);
		r = bind(fd, (struct sockaddr *)&address, length);
	}
	if (r < 0 || listen(fd, FAREWELL_WAITING) < 0) {
		log_debug("umount(8) will not wait for the daemon to end: %s", strerror(errno));
		return -1;
	}
	return take_fd(&fd);
}

static int farewell_connect_one(unsigned device_major, unsigned device_minor, unsigned name, uid_t server)
{
	auto_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un address;
	socklen_t length = farewell_address(device_major, device_minor, name, &address), size = sizeof(struct ucred);
	struct ucred peer;

	if (fd < 0 || connect(fd, (struct sockaddr *)&address, length) < 0 ||
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0 || (peer.uid != server && peer.uid != 0))
		return -1;
	return take_fd(&fd);
}

void farewell_connect(unsigned device_major, unsigned device_minor, uid_t server, int fds[FAREWELL_NAMES])
{
	for (unsigned i = 0; i < FAREWELL_NAMES; i++)
		fds[i] = farewell_connect_one(device_major, device_minor, i, server);
}
