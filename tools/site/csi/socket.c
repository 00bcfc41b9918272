/* SPDX-License-Identifier: MIT */
/* Asks who connects by SO_PEERCRED, see unix(7). */
#include "csi/socket.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"

#define SOCKET_QUEUE 128 /* connections that nobody has accepted; grpc-go gives up where there is no room */

/* Removes the socket of a plugin that has ended. The kubelet sees that as the end of a plugin, and the new one as its
 * beginning. */
static int socket_clear(int fd, const struct sockaddr_un *address, struct error *err)
{
	if (connect(fd, (const struct sockaddr *)address, sizeof(*address)) == 0)
		return error_set(err, -EADDRINUSE, "another datasetfs-csi answers at '%s'", address->sun_path);
	if (unlink(address->sun_path) < 0 && errno != ENOENT)
		return error_errno(err, "cannot remove '%s'", address->sun_path);
	return 0;
}

static int socket_bind(int fd, const struct sockaddr_un *address, struct error *err)
{
	mode_t mask = umask(077);
	int r = bind(fd, (const struct sockaddr *)address, sizeof(*address));

	if (r == 0)
		r = listen(fd, SOCKET_QUEUE);
	if (r < 0)
		r = error_errno(err, "cannot listen at '%s'", address->sun_path);
	umask(mask);
	return r;
}

static int socket_make(int *ret, struct error *err)
{
	*ret = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	return *ret < 0 ? error_errno(err, "cannot make a socket") : 0;
}

int socket_listen(const char *path, int *ret, struct error *err)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	auto_close int probe = -1, fd = -1;
	int r;

	if (strlen(path) >= sizeof(address.sun_path))
		return error_set(err, -ENAMETOOLONG, "'%s' is too long for a socket, at most %zu bytes", path,
				 sizeof(address.sun_path) - 1);
	strcpy(address.sun_path, path);
	r = socket_make(&probe, err);
	if (r == 0)
		r = socket_make(&fd, err);
	if (r == 0)
		r = socket_clear(probe, &address, err);
	if (r == 0)
		r = socket_bind(fd, &address, err);
	if (r == 0)
		*ret = take_fd(&fd);
	return r;
}

int socket_accept(int listener)
{
	auto_close int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct ucred peer;
	socklen_t size = sizeof(peer);

	if (fd < 0)
		return -1;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0 || peer.uid != 0) {
		log_warn("a process that is not root's connects, ignoring");
		return -1;
	}
	return take_fd(&fd);
}
