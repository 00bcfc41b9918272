/* SPDX-License-Identifier: MIT */
/* Asks the kernel who connected: SO_PEERCRED, SO_PEERGROUPS and SO_PEERPIDFD of unix(7) and socket(7). */
#include "serve/clients/credentials.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "serve/request/caller.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77 /* Linux 6.5 */
#endif

/* otherwise: the answer if the groups cannot be read. */
static bool credentials_is_in(int fd, gid_t first, gid_t group, bool otherwise)
{
	auto_free gid_t *groups = NULL;
	socklen_t size = 0;

	if (first == group)
		return true;
	/* Fails with ERANGE and sets the size that is needed. */
	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, NULL, &size) == 0)
		return false;
	groups = errno == ERANGE ? malloc(size) : NULL;
	if (!groups || getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &size) < 0)
		return otherwise;
	for (size_t i = 0; i < size / sizeof(*groups); i++)
		if (groups[i] == group)
			return true;
	return false;
}

bool credentials_has_group(const struct credentials *peer, uint32_t group)
{
	return credentials_is_in(peer->fd, peer->gid, group, true);
}

/* The time when the process with this pid began, ns since boot, rounded down to a tick; INT64_MAX: unknown. It is field
 * 22 of proc_pid_stat(5); field 2 is a name that may contain any character. */
static int64_t credentials_began(uint32_t pid)
{
	unsigned long long ticks;
	char path[64], line[1024];
	const char *rest;
	FILE *file;
	bool got;

	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	file = fopen(path, "re");
	if (!file)
		return INT64_MAX;
	got = fgets(line, sizeof(line), file);
	fclose(file);
	rest = got ? strrchr(line, ')') : NULL;
	if (!rest || sscanf(rest + 1, " %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s"
				      " %llu", &ticks) != 1)
		return INT64_MAX;
	return (int64_t)(ticks * (1000000000u / (unsigned long long)sysconf(_SC_CLK_TCK)));
}

/* Whether the process that connected still has its pid; call it after reading /proc/PID. Before Linux 6.5 the pid
 * counts if the process that has it now began before the connection was accepted. */
static bool credentials_is_same(int fd, uint32_t pid, int64_t accepted)
{
	auto_close int pidfd = -1;
	socklen_t size = sizeof(pidfd);
	struct pollfd ended;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &size) < 0) {
		pidfd = -1;
		return errno == ENOPROTOOPT && credentials_began(pid) <= accepted;
	}
	ended = (struct pollfd){ .fd = pidfd, .events = POLLIN };
	return poll(&ended, 1, 0) == 0;
}

static int64_t credentials_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Root without the capability owns the volume's file or device, as a rule, and could open it for writing. */
static bool credentials_may(const struct serve *serve, int fd, const struct ucred *peer, bool *ret_member)
{
	const struct mount_options *options = &serve->options;
	int64_t accepted = credentials_now();

	*ret_member = false;
	if (peer->uid && peer->uid == serve->owner)
		return true;
	if (!peer->uid && caller_is_admin((uint32_t)peer->pid) &&
	    credentials_is_same(fd, (uint32_t)peer->pid, accepted))
		return true;
	*ret_member = peer->uid && options->direct_group.name &&
		      credentials_is_in(fd, peer->gid, options->direct_group.number, false);
	return *ret_member;
}

/* Says in the error who may read past the mount. */
static int credentials_refuse(const struct serve *serve, uid_t uid, struct error *err)
{
	bool has_group = serve->options.direct_group.name;
	char owner[32] = "";

	if (serve->owner)
		snprintf(owner, sizeof(owner), "%s user %u", has_group ? "," : " and", (unsigned)serve->owner);
	if (!has_group)
		return error_set(err, -EPERM, "only root with CAP_SYS_ADMIN%s may read past this mount: ask the "
				 "administrator of this machine to mount it with direct_group=GROUP, or to add that "
				 "to its line in /etc/datasetfs/datasets.conf", owner);
	return error_set(err, -EPERM, "only root with CAP_SYS_ADMIN%s and members of its direct_group '%s' may read "
			 "past this mount: %s", owner, serve->options.direct_group.name,
			 uid ? "ask the administrator of this machine to add you to that group" :
			       "root without that capability is no member");
}

int credentials_check(const struct serve *serve, int fd, struct credentials *ret, struct error *err)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);
	bool member;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
		return error_errno(err, "cannot find out who connected");
	if (credentials_may(serve, fd, &peer, &member)) {
		*ret = (struct credentials){ .pid = (uint32_t)peer.pid, .uid = peer.uid, .gid = peer.gid, .fd = fd,
					     .is_member = member };
		return 0;
	}
	return credentials_refuse(serve, peer.uid, err);
}
