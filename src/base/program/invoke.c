/* SPDX-License-Identifier: MIT */
/* Starts programs by posix_spawnp(3). */
#include "base/program/invoke.h"

#include <errno.h>
#include <spawn.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int invoke_wait(pid_t child, const char *program, struct error *err)
{
	int status;

	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return error_errno(err, "cannot wait for %s", program);
	return status;
}

int invoke_run(const char *const argv[], struct invoke_streams streams, struct error *err)
{
	extern char **environ;
	const int given[] = { streams.in, streams.out, streams.err };
	posix_spawn_file_actions_t actions;
	pid_t child;
	int r;

	r = posix_spawn_file_actions_init(&actions);
	for (int i = 0; r == 0 && i <= STDERR_FILENO; i++)
		if (given[i] >= 0)
			r = posix_spawn_file_actions_adddup2(&actions, given[i], i);
	if (r == 0)
		r = posix_spawnp(&child, argv[0], &actions, NULL, (char *const *)(uintptr_t)argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	return r ? error_set(err, -r, "cannot run %s: %s", argv[0], strerror(r)) : invoke_wait(child, argv[0], err);
}
