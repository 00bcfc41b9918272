/* SPDX-License-Identifier: MIT */
/* Sleeps until the daemon's first thread ends (PR_SET_PDEATHSIG), and writes to the connection's abort file. */
#include "serve/session/guard.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/program/privileges.h"
#include "fuse/abort.h"

#define GUARD_SIGNAL SIGUSR1

/* ---- the guard ---- */

static void guard_wait(int file, pid_t daemon)
{
	sigset_t signals;
	int got = 0;

	sigemptyset(&signals);
	sigaddset(&signals, GUARD_SIGNAL);
	prctl(PR_SET_PDEATHSIG, GUARD_SIGNAL);
	while (getppid() == daemon && got != GUARD_SIGNAL)
		sigwait(&signals, &got);
	if (write(file, "1", 1) < 0)
		_exit(1);
}

static _Noreturn void guard_main(int socket, pid_t daemon)
{
	unsigned device_minor;
	int file = -1, code;

	if (recv(socket, &device_minor, sizeof(device_minor), 0) != sizeof(device_minor))
		_exit(0);
	code = -abort_open(device_minor, &file, NULL);
	privileges_drop();
	prctl(PR_SET_NAME, "datasetfs-guard");
	if (send(socket, &code, sizeof(code), MSG_NOSIGNAL) == sizeof(code) && !code)
		guard_wait(file, daemon);
	_exit(0);
}

/* ---- the daemon ---- */

/* Blocks all signals before the fork, as GUARD_SIGNAL could arrive before the guard waits for it. */
static void guard_block(void)
{
	sigset_t signals;

	sigfillset(&signals);
	pthread_sigmask(SIG_BLOCK, &signals, NULL);
}

int guard_open(struct guard *guard, struct error *err)
{
	pid_t daemon = getpid(), pid;
	sigset_t before;
	int sockets[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
		return error_errno(err, "cannot make a socket");
	pthread_sigmask(SIG_SETMASK, NULL, &before);
	guard_block();
	pid = fork();
	if (pid == 0) {
		dup2(sockets[1], 0);
		close_range(1, ~0u, 0);
		guard_main(0, daemon);
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	close(sockets[1]);
	if (pid < 0) {
		error_errno(err, "cannot make a process");
		close(sockets[0]);
		return err->code;
	}
	*guard = (struct guard){ pid, sockets[0] };
	return 0;
}

int guard_watch(const struct guard *guard, unsigned device_minor, struct error *err)
{
	int code;

	if (!guard->pid)
		return error_set(err, -ECHILD, "there is no process for it");
	if (send(guard->socket, &device_minor, sizeof(device_minor), MSG_NOSIGNAL) < 0 ||
	    recv(guard->socket, &code, sizeof(code), 0) != sizeof(code))
		return error_set(err, -ECHILD, "its process ended");
	return code ? error_set(err, -code, "cannot open '/sys/fs/fuse/connections/%u/abort': %s", device_minor,
				strerror(code)) : 0;
}

void guard_close(struct guard *guard)
{
	if (!guard->pid)
		return;
	kill(guard->pid, SIGKILL);
	while (waitpid(guard->pid, NULL, 0) < 0 && errno == EINTR)
		continue;
	close(guard->socket);
	guard->pid = 0;
}
