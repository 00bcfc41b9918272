/* SPDX-License-Identifier: MIT */
/* Compares /proc/self/cgroup with /proc/1/cgroup, hierarchy by hierarchy; of version 1 each controller has its own. */
#include "attach/departure.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mountinfo.h"

#define DEPARTURE_OOM_SCORE "-900\n" /* all readers depend on the daemon: the unit datasetfs@ has the same */

/* ---- control groups ---- */

/* A line of a file cgroup: ID:CONTROLLERS:PATH, see cgroups(7). Of version 2 there are no controllers. */
struct departure_group {
	char *controllers, *path;
};

static bool departure_parse(char *line, struct departure_group *ret)
{
	line[strcspn(line, "\n")] = 0;
	ret->controllers = strchr(line, ':');
	ret->path = ret->controllers ? strchr(ret->controllers + 1, ':') : NULL;
	if (!ret->path)
		return false;
	*ret->controllers++ = 0;
	*ret->path++ = 0;
	return true;
}

struct departure_search {
	const struct departure_group *group;
	char *file; /* cgroup.procs of the group */
};

/* Returns whether the first controller of the group is one of a filesystem's options. */
static bool departure_has(const char *options, const char *controllers)
{
	size_t length = strcspn(controllers, ",");

	for (const char *word = options; *word; word += strcspn(word, ","), word += *word == ',')
		if (strcspn(word, ",") == length && !strncmp(word, controllers, length))
			return true;
	return false;
}

/* The group's path counts from the root of the hierarchy; perhaps only a part of that is mounted. */
static int departure_see(void *argument, const struct mountinfo *info, struct error *err)
{
	struct departure_search *search = argument;
	const char *controllers = search->group->controllers, *path = search->group->path;
	size_t length = strcmp(info->root, "/") != 0 ? strlen(info->root) : 0;

	if (*controllers ? strcmp(info->type, "cgroup") != 0 || !departure_has(info->options, controllers) :
			   strcmp(info->type, "cgroup2") != 0)
		return 0;
	if (strncmp(path, info->root, length) != 0 || (path[length] && path[length] != '/'))
		return 0;
	if (asprintf(&search->file, "%s%s/cgroup.procs", info->point, path + length) < 0) {
		search->file = NULL;
		return error_no_memory(err);
	}
	return 1;
}

static int departure_join(const struct departure_group *group, struct error *err)
{
	struct departure_search search = { .group = group };
	auto_free char *file = NULL;
	auto_close int fd = -1;
	int r = mountinfo_each(departure_see, &search, err);

	file = search.file;
	if (r < 0)
		return r;
	if (!file)
		return error_set(err, -ENOENT, "attach needs the control groups of process 1 (%s): mount or bind "
				 "/sys/fs/cgroup here", *group->controllers ? group->controllers : "version 2");
	fd = open(file, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, "0\n", 2) < 0)
		return error_errno(err, "cannot leave the caller's control group for '%s'", file);
	return 0;
}

static int departure_leave_groups(struct error *err)
{
	auto_fclose FILE *first = fopen("/proc/1/cgroup", "re");
	auto_fclose FILE *own = fopen("/proc/self/cgroup", "re");
	auto_free char *there = NULL;
	auto_free char *here = NULL;
	size_t there_size = 0, here_size = 0;
	struct departure_group group;
	int r = 0;

	if (!own && errno == ENOENT) /* a kernel without control groups */
		return 0;
	if (!first || !own)
		return error_errno(err, "cannot read the control groups of process 1");
	while (r == 0 && getline(&there, &there_size, first) > 0 && getline(&here, &here_size, own) > 0)
		if (strcmp(there, here) != 0 && departure_parse(there, &group))
			r = departure_join(&group, err);
	return r;
}

/* ---- namespaces ---- */

/* Returns whether the process is in a namespace of its own. *ret_first: that of process 1, which some containers do not
 * let even root see: then its own is the machine's, as for machine.h. */
static bool departure_differs(const char *kind, int *ret_first)
{
	struct stat first, own;
	char path[32];

	snprintf(path, sizeof(path), "/proc/1/ns/%s", kind);
	*ret_first = open(path, O_RDONLY | O_CLOEXEC);
	snprintf(path, sizeof(path), "/proc/self/ns/%s", kind);
	return *ret_first >= 0 && fstat(*ret_first, &first) == 0 && stat(path, &own) == 0 &&
	       first.st_ino != own.st_ino;
}

int departure_check(struct error *err)
{
	auto_close int pid = -1;

	return departure_differs("pid", &pid) ? error_set(err, -EINVAL, "the daemon would end with the caller's PID "
							  "namespace: attach outside of it") : 0;
}

/* A daemon would keep the network of a container alive. */
static int departure_leave_namespaces(struct error *err)
{
	static const char *const kinds[] = { "net", "ipc", "uts", "cgroup" };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		auto_close int first = -1;

		if (departure_differs(kinds[i], &first) && setns(first, 0) < 0)
			return error_errno(err, "cannot leave the caller's %s namespace", kinds[i]);
	}
	return 0;
}

/* ---- the rest ---- */

/* A root without CAP_SYS_RESOURCE keeps the hard limits that it was given. */
static void departure_leave_limits(void)
{
	struct rlimit limit;

	for (unsigned i = 0; i < RLIM_NLIMITS; i++)
		if (prlimit(1, i, NULL, &limit) == 0)
			(void)!setrlimit(i, &limit);
	(void)!setpriority(PRIO_PROCESS, 0, 0);
}

static void departure_leave_cpus(void)
{
	size_t size = CPU_ALLOC_SIZE(8192);
	cpu_set_t *all = calloc(1, size);

	if (all) {
		memset(all, 0xff, size);
		(void)!sched_setaffinity(0, size, all); /* those that the group does not have are left out */
	}
	free(all);
}

static void departure_leave_signals(void)
{
	sigset_t none;

	for (int i = 1; i < SIGRTMIN; i++)
		signal(i, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static void departure_write(const char *file, const char *text)
{
	auto_close int fd = open(file, O_WRONLY | O_CLOEXEC);

	if (fd >= 0)
		(void)!write(fd, text, strlen(text));
}

/* Keeps PATH alone, as that says where the daemon is. */
static int departure_leave_environment(struct error *err)
{
	const char *own = getenv("PATH");
	auto_free char *path = strdup(own ? own : "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin");

	if (!path || clearenv() != 0 || setenv("PATH", path, 1) < 0)
		return error_no_memory(err);
	return 0;
}

int departure_leave(struct error *err)
{
	int r = departure_leave_groups(err);

	if (r == 0)
		r = departure_leave_namespaces(err);
	if (r < 0)
		return r;
	departure_leave_limits();
	departure_leave_cpus();
	departure_leave_signals();
	departure_write("/proc/self/oom_score_adj", DEPARTURE_OOM_SCORE);
	umask(022);
	setsid();
	if (chdir("/") < 0)
		return error_errno(err, "cannot leave the working directory");
	return departure_leave_environment(err);
}
