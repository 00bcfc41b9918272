/* SPDX-License-Identifier: MIT */
/* Connects, checks who listens, and waits for the greeting. */
#include "client/meeting.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/program/passing.h"
#include "client/client.h"

/* Whether uid is the one that stands for all unmapped users in a user namespace (user_namespaces(7)). */
static bool meeting_is_nobody(uid_t uid)
{
	unsigned long nobody = 65534, inside = 1, outside = 1, count = 0;
	FILE *file = fopen("/proc/sys/kernel/overflowuid", "re");

	if (file && fscanf(file, "%lu", &nobody) != 1)
		nobody = 65534;
	if (file)
		fclose(file);
	if (uid != nobody)
		return false;
	file = fopen("/proc/self/uid_map", "re");
	if (file && fscanf(file, "%lu %lu %lu", &inside, &outside, &count) != 3)
		count = 0;
	if (file)
		fclose(file);
	return inside || outside || count != UINT32_MAX; /* not the initial namespace */
}

/* Trusts root and the caller. SO_PEERCRED is that of the process that called listen(2), and only that one can send. */
static int meeting_check_daemon(int fd, struct error *err)
{
	struct ucred daemon;
	socklen_t size = sizeof(daemon);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &daemon, &size) < 0)
		return error_errno(err, "cannot find out who serves the mount");
	if (daemon.uid == 0 || (daemon.uid == geteuid() && !meeting_is_nobody(daemon.uid)))
		return 0;
	return error_set(err, -EPERM,
			 "the daemon of the mount runs as user %u, trusted are those of root and of user %u",
			 (unsigned)daemon.uid, (unsigned)geteuid());
}

static int meeting_greet(int fd, int timeout, struct error *err)
{
	struct passing_packet packet;
	int r = passing_receive(fd, timeout, 0, &packet, err);

	if (r == 0)
		r = client_check_answer(packet.bytes, packet.length, CLIENT_GREETING, sizeof(struct client_greeting),
					err);
	return r;
}

int meeting_connect(const char *path, int timeout, int *ret_fd, struct error *err)
{
	auto_close int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	const struct timeval most = { .tv_sec = timeout / 1000, .tv_usec = timeout % 1000 * 1000 };
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int r;

	if (fd < 0)
		return error_errno(err, "cannot make a socket");
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof(most)); /* also applies to connect(2) */
	memcpy(address.sun_path, path, strlen(path));
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return error_errno(err, "no daemon of the mount at '%s'", path);
	r = meeting_check_daemon(fd, err);
	if (r == 0)
		r = meeting_greet(fd, timeout, err);
	if (r < 0)
		return r;
	*ret_fd = take_fd(&fd);
	return 0;
}
