/* SPDX-License-Identifier: MIT */
/* Forks, and detaches the child from its parent so that no process has to wait for it. */
#include "base/program/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/program/descriptors.h"

/* ---- in the child ---- */

static bool child_leave(int fd, pid_t parent)
{
	int null = open("/dev/null", O_WRONLY);

	for (int i = 1; i < SIGRTMIN; i++)
		signal(i, SIG_DFL);
	if (setsid() < 0 || chdir("/") < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
		return false;
	if (dup2(fd, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0 || dup2(null, STDERR_FILENO) < 0)
		return false;
	descriptors_close_inherited(-1);
	return true;
}

static _Noreturn void child_run(child_body *body, const void *argument, int fd, pid_t parent)
{
	if (child_leave(fd, parent))
		body(argument, STDIN_FILENO);
	_exit(0);
}

/* ---- in its parent ---- */

int child_start(struct child *child, child_body *body, const void *argument, struct error *err)
{
	pid_t parent = getpid(), process;
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return error_errno(err, "cannot make a pair of sockets");
	auto_close int ours = ends[0], its = ends[1];
	process = fork();
	if (process < 0)
		return error_errno(err, "cannot start a process");
	if (process == 0)
		child_run(body, argument, its, parent);
	*child = (struct child){ .process = process, .fd = take_fd(&ours) };
	return 0;
}

bool child_is_gone(struct child *child)
{
	if (child->process && waitpid(child->process, &child->status, WNOHANG) != 0)
		child->process = 0;
	return !child->process;
}

static void child_wait(const struct child *child, int64_t until)
{
	struct pollfd end = { .fd = child->fd, .events = 0 }; /* POLLHUP needs no asking */
	int64_t left = until - clock_now();

	if (left > 0)
		poll(&end, 1, (int)(left / 1000000));
}

void child_kill(struct child *child, int64_t until)
{
	if (!child_is_gone(child)) { /* its number may be another one's then */
		kill(child->process, SIGKILL);
		child_wait(child, until);
	}
	close_fd(&child->fd);
}
