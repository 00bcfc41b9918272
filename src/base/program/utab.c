/* SPDX-License-Identifier: MIT */
/* Runs mount(8) with -i -f, which does everything but the mount. */
#include "base/program/utab.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mountinfo.h"

static bool utab_run(char *const argv[])
{
	extern char **environ;
	posix_spawn_file_actions_t actions;
	int status = -1, r;
	pid_t child;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	r = posix_spawn(&child, argv[0], &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	while (r == 0 && waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			break;
	if (r == 0 && status == 0)
		return true;
	log_debug("%s does not note the mount: %s", argv[0], r ? strerror(r) : "it failed");
	return false;
}

bool utab_add(const char *source, const char *mountpoint)
{
	char *argv[] = { "/bin/mount", "-i", "-f", "--no-canonicalize", "-t", MOUNTINFO_OURS, "-o",
			 "ro,helper=datasetfs", "--", (char *)source, (char *)mountpoint, NULL };

	return geteuid() == 0 && access(UTAB_HELPER, X_OK) == 0 && utab_run(argv);
}

void utab_remove(const char *mountpoint)
{
	char *argv[] = { "/bin/umount", "-i", "--fake", "--no-canonicalize", "--", (char *)mountpoint, NULL };

	utab_run(argv);
}
