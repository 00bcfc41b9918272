/* SPDX-License-Identifier: MIT */
/* Signals: those that were ignored when the program started, as under nohup(1), stay ignored; SIGXFSZ always is. */
#pragma once
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

static inline bool signal_is_ignored(int number)
{
	struct sigaction action;

	return sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

/* A file that would become larger than RLIMIT_FSIZE: without the signal the write fails with EFBIG,
 * and what was begun is cleaned up as after any failure. */
static inline void signal_ignore_size_limit(void)
{
	signal(SIGXFSZ, SIG_IGN);
}
