/* SPDX-License-Identifier: MIT */
/* A new process says in memory that both have why it did not become the program. */
#include "base/program/invoke.h"

#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define INVOKE_FAILED 127

static _Noreturn void invoke_become(const char *const argv[], const struct invoke_streams *streams,
				    invoke_prepare *prepare, struct error *err)
{
	const int given[] = { streams->in, streams->out, streams->err };
	int r = 0;

	for (int i = 0; r == 0 && i <= STDERR_FILENO; i++)
		if (given[i] >= 0 && dup2(given[i], i) < 0)
			r = error_errno(err, "cannot give %s its descriptors", argv[0]);
	if (r == 0 && prepare)
		r = prepare(err);
	if (r == 0) {
		execvp(argv[0], (char *const *)(uintptr_t)argv);
		(void)!error_errno(err, "cannot run %s", argv[0]);
	}
	_exit(INVOKE_FAILED);
}

static int invoke_wait(pid_t child, const char *program, struct error *err)
{
	int status;

	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return error_errno(err, "cannot wait for %s", program);
	return status;
}

int invoke_run(const char *const argv[], struct invoke_streams streams, invoke_prepare *prepare, struct error *err)
{
	struct error *why = mmap(NULL, sizeof(*why), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t child;
	int r;

	if (why == MAP_FAILED)
		return error_no_memory(err);
	child = fork();
	if (child == 0)
		invoke_become(argv, &streams, prepare, why);
	r = child < 0 ? error_errno(err, "cannot start a process") : invoke_wait(child, argv[0], err);
	if (r > 0 && why->code)
		r = error_pass(err, why->code, why);
	munmap(why, sizeof(*why));
	return r;
}
