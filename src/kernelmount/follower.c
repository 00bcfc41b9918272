/* SPDX-License-Identifier: MIT */
/* The unit is named after the mountpoint, in the way of systemd-escape(1). */
#include "kernelmount/follower.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/program/descriptors.h"
#include "base/program/invoke.h"

#define FOLLOWER_BOOTED "/run/systemd/system" /* sd_booted(3) */
#define FOLLOWER_MOST   255                   /* bytes of a unit's name */

/* False: the path is too long for a unit. */
static bool follower_unit(const char *mountpoint, char ret[FOLLOWER_MOST + 1])
{
	int n = snprintf(ret, FOLLOWER_MOST + 1, "datasetfs-follow@%s", mountpoint[1] ? "" : "-");

	for (const char *at = mountpoint + 1; *at && n <= FOLLOWER_MOST; at++) {
		bool is_plain = isalnum((unsigned char)*at) || *at == ':' || *at == '_' ||
				(*at == '.' && at > mountpoint + 1);

		n += snprintf(ret + n, (size_t)(FOLLOWER_MOST + 1 - n), *at == '/' ? "-" : is_plain ? "%c" : "\\x%02x",
			      (unsigned char)*at);
	}
	if (n <= FOLLOWER_MOST)
		n += snprintf(ret + n, (size_t)(FOLLOWER_MOST + 1 - n), ".service");
	return n <= FOLLOWER_MOST;
}

/* Whether a unit would see the mount, as this process is in the mount namespace of systemd. */
static bool follower_is_seen(void)
{
	struct stat own, first;

	return stat("/proc/self/ns/mnt", &own) == 0 && stat("/proc/1/ns/mnt", &first) == 0 &&
	       own.st_ino == first.st_ino;
}

static bool follower_start_unit(const char *mountpoint)
{
	char unit[FOLLOWER_MOST + 1];
	const char *const words[] = { "systemctl", "--no-block", "restart", "--", unit, NULL };
	const struct invoke_streams streams = { -1, -1, -1 };
	struct error why = { 0 };

	if (access(FOLLOWER_BOOTED, F_OK) < 0 || !follower_is_seen() || !follower_unit(mountpoint, unit))
		return false;
	/* One that runs may not have noticed yet that its mount is gone. */
	if (invoke_run(words, streams, NULL, &why) == 0)
		return true;
	log_warn("systemd does not start '%s'%s%s: '%s' follows without a unit, ignoring", unit,
		 *why.reason ? ": " : "", why.reason, mountpoint);
	return false;
}

int follower_start(const char *mountpoint, struct error *err)
{
	pid_t child;

	if (follower_start_unit(mountpoint))
		return 0;
	child = fork();
	if (child < 0)
		return error_errno(err, "cannot start a process that follows");
	if (child > 0)
		return 0;
	descriptors_close_inherited(-1);
	return 1;
}
