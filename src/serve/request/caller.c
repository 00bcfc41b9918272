/* SPDX-License-Identifier: MIT */
/* Reads proc_pid_status(5) of the process that sent a request; the request itself carries a user and one group. The
 * process waits in the kernel until the request is answered; after that its pid may belong to another process. So read
 * first, then check that the request is still unanswered. */
#include "serve/request/caller.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/program/subordinate.h"
#include "base/same.h"
#include "serve/serve.h"

#define CALLER_MAP_SIZE 4096u /* bytes of a uid_map that are compared */
#define CALLER_PROCESS  (UINT32_C(1) << 31)
#define CALLER_UNKNOWN  UINT32_MAX /* user and group of a request whose sender the kernel does not name */

struct caller {
	bool is_read;      /* something is known of it */
	uint32_t uid, gid; /* for accesses to files */
	bool is_admin;     /* it has CAP_SYS_ADMIN in its own user namespace */
	bool is_killed;    /* SIGKILL is pending; the kernel turns other fatal signals into SIGKILL */
	char *groups;      /* supplementary groups, as text; NULL: unknown. The function that reads it frees it. */
};

static bool caller_lists(const char *groups, uint32_t group)
{
	unsigned long found;
	char *end;

	for (;; groups = end) {
		found = strtoul(groups, &end, 10);
		if (end == groups)
			return false;
		if (found == group)
			return true;
	}
}

static void caller_take_line(const char *line, struct caller *caller)
{
	unsigned long long bits;

	if (!strncmp(line, "Groups:", 7) && !caller->groups)
		caller->groups = strdup(line + 7);
	else if (sscanf(line, "CapEff: %llx", &bits) == 1)
		caller->is_admin = bits >> CAP_SYS_ADMIN & 1;
	else if (sscanf(line, "SigPnd: %llx", &bits) == 1 || sscanf(line, "ShdPnd: %llx", &bits) == 1)
		caller->is_killed |= bits >> (SIGKILL - 1) & 1;
	else /* real, effective, saved, and that of accesses to files */
		(void)(sscanf(line, "Uid: %*u %*u %*u %" SCNu32, &caller->uid) == 1 ||
		       sscanf(line, "Gid: %*u %*u %*u %" SCNu32, &caller->gid) == 1);
}

/* Reads /proc/PID/status. A process in another pid namespace has pid 0 here, and nothing is known of it. */
static struct caller caller_read(uint32_t pid)
{
	auto_free char *line = NULL;
	struct caller caller = { 0 };
	size_t size = 0;
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%u/status", pid);
	file = pid ? fopen(path, "re") : NULL;
	if (!file)
		return caller;
	while (getline(&line, &size, file) >= 0)
		caller_take_line(line, &caller);
	caller.is_read = caller.groups; /* the last of the lines that say who it is */
	fclose(file);
	return caller;
}

/* Reads the sender's groups and capabilities from its process: none if the request has another user or group than the
 * process itself. Then the process acts for another user, as with a personality of io_uring, and its groups and
 * capabilities are not that user's. */
static struct caller caller_of(const struct request *wire)
{
	struct caller caller = caller_read(wire->pid);

	if (caller.is_read && caller.uid == wire->uid && caller.gid == wire->gid)
		return caller;
	free(caller.groups);
	return (struct caller){ 0 };
}

void caller_identify(const struct serve *serve, struct channel_request *request)
{
	struct request *wire = &request->wire;
	struct caller caller;

	if (!serve->options.idmap || wire->uid != CALLER_UNKNOWN || wire->gid != CALLER_UNKNOWN)
		return;
	caller = caller_read(wire->pid);
	if (caller.is_read) {
		wire->uid = caller.uid;
		wire->gid = caller.gid;
	}
	free(caller.groups);
}

uint32_t caller_share(const struct serve *serve, const struct channel_request *request)
{
	const struct request *wire = &request->wire;

	return wire->uid != CALLER_UNKNOWN ? subordinate_share(serve->subordinate, wire->uid) :
					     CALLER_PROCESS | wire->pid;
}

static size_t caller_read_map(const char *path, char map[CALLER_MAP_SIZE])
{
	FILE *file = fopen(path, "re");
	size_t length;

	if (!file)
		return 0;
	length = fread(map, 1, CALLER_MAP_SIZE, file);
	fclose(file);
	return length;
}

/* Whether the process has the same uid_map as we: a substitute when we may not see its user namespace. */
static bool caller_has_our_map(uint32_t pid)
{
	char ours[CALLER_MAP_SIZE], theirs[CALLER_MAP_SIZE], path[64];
	size_t length = caller_read_map("/proc/self/uid_map", ours);

	snprintf(path, sizeof(path), "/proc/%u/uid_map", pid);
	return length && caller_read_map(path, theirs) == length && !memcmp(ours, theirs, length);
}

/* Any user may create a user namespace and have all capabilities in it. We may not see the namespace of a process if it
 * has capabilities that we lack and we lack CAP_SYS_PTRACE. */
static bool caller_is_in_our_namespace(uint32_t pid)
{
	struct stat ours, theirs;
	char path[64];

	if (stat("/proc/self/ns/user", &ours) < 0)
		return errno == ENOENT; /* the kernel has none */
	snprintf(path, sizeof(path), "/proc/%u/ns/user", pid);
	if (stat(path, &theirs) < 0)
		return (errno == EACCES || errno == EPERM) && caller_has_our_map(pid);
	return same_file(&ours, &theirs);
}

bool caller_is_admin(uint32_t pid)
{
	struct caller caller = caller_read(pid);

	free(caller.groups);
	return caller.is_admin && caller_is_in_our_namespace(pid);
}

static bool caller_is_root(const struct request *wire, const struct caller *caller)
{
	return !wire->uid && caller->is_admin && caller_is_in_our_namespace(wire->pid);
}

/* Whether the sender mounted, or may act for the user who did. */
static bool caller_is_owner(const struct serve *serve, const struct request *wire)
{
	struct caller caller = { 0 };

	if (wire->uid)
		return wire->uid == serve->owner;
	caller = caller_of(wire);
	free(caller.groups);
	return caller_is_root(wire, &caller);
}

static bool caller_is_member(const struct serve *serve, const struct request *wire)
{
	const uint32_t group = serve->options.control_group.number;
	struct caller caller;
	bool is_member;

	if (!serve->options.control_group.name || wire->gid == group)
		return serve->options.control_group.name;
	caller = caller_of(wire);
	is_member = caller.groups && caller_lists(caller.groups, group);
	free(caller.groups);
	return is_member;
}

static int caller_judge(const struct serve *serve, const struct channel_request *request, bool may, bool members,
			const char *what, struct error *err)
{
	char owner[32] = "";

	if (channel_is_answered(request))
		return error_set(err, -EINTR, "its process was killed");
	if (may)
		return 0;
	if (serve->owner)
		snprintf(owner, sizeof(owner), "%s user %u", members ? "," : " and", (unsigned)serve->owner);
	return error_set(err, -EPERM, "only root with CAP_SYS_ADMIN%s%s may %s this mount", owner,
			 members ? " and members of its control_group" : "", what);
}

int caller_check(const struct serve *serve, const struct channel_request *request, struct error *err)
{
	bool may = caller_is_owner(serve, &request->wire) || caller_is_member(serve, &request->wire);

	return caller_judge(serve, request, may, serve->options.control_group.name, "switch", err);
}

int caller_check_owner(const struct serve *serve, const struct channel_request *request, struct error *err)
{
	return caller_judge(serve, request, caller_is_owner(serve, &request->wire), false, "upgrade", err);
}

static bool caller_has_group(struct caller_reader *reader, uint32_t group)
{
	if (reader->request->wire.gid == group)
		return group != CALLER_UNKNOWN;
	if (!reader->groups && !reader->has_looked) {
		reader->groups = caller_of(&reader->request->wire).groups;
		reader->has_looked = true;
	}
	return reader->groups && caller_lists(reader->groups, group);
}

/* The rules of path_resolution(7), without capabilities. Most files are readable by all, and need no look at the
 * process. */
bool caller_may_read(struct caller_reader *reader, uint32_t mode, uint32_t uid, uint32_t gid)
{
	bool group = mode & S_IRGRP, others = mode & S_IROTH;

	if (reader->request->wire.uid == uid && uid != CALLER_UNKNOWN)
		return mode & S_IRUSR;
	if (group == others)
		return others;
	return caller_has_group(reader, gid) ? group : others;
}

void caller_reader_free(struct caller_reader *reader)
{
	free(reader->groups);
}

bool caller_is_killed(uint32_t pid)
{
	struct caller caller = caller_read(pid);

	free(caller.groups);
	return caller.is_killed;
}

bool caller_is_gone(const struct channel_request *request)
{
	return caller_is_killed(request->wire.pid) || channel_is_answered(request);
}
