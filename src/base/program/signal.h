/* SPDX-License-Identifier: MIT */
/* Signals that a program ignores: those ignored when it started, as under nohup(1), and SIGXFSZ; and those that a
 * service with a loop takes by a descriptor. */
#pragma once
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/signalfd.h>

#include "base/error.h"

static inline bool signal_is_ignored(int number)
{
	struct sigaction action;

	return sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

/* Ignores SIGXFSZ: a write beyond RLIMIT_FSIZE then fails with EFBIG instead of killing the program, and is cleaned
 * up like any failure. */
static inline void signal_ignore_size_limit(void)
{
	signal(SIGXFSZ, SIG_IGN);
}

/* Has SIGTERM, SIGINT and SIGCHLD come by a descriptor that does not block, and ignores SIGPIPE. */
must_check static inline int signal_take(int *ret_fd, struct error *err)
{
	sigset_t taken;
	int fd;

	signal(SIGPIPE, SIG_IGN);
	signal(SIGCHLD, SIG_DFL); /* our parent may have set it to be ignored */
	sigemptyset(&taken);
	sigaddset(&taken, SIGCHLD);
	sigaddset(&taken, SIGTERM);
	sigaddset(&taken, SIGINT);
	sigprocmask(SIG_BLOCK, &taken, NULL);
	fd = signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0)
		return error_errno(err, "cannot wait for signals");
	*ret_fd = fd;
	return 0;
}
