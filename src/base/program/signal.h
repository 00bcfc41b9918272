/* SPDX-License-Identifier: MIT */
/* Signals that a program ignores: those ignored when it started, as under nohup(1), and SIGXFSZ. */
#pragma once
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

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
