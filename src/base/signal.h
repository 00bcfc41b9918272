/* SPDX-License-Identifier: MIT */
/* Signals that whoever started us had ignored, as nohup(1) does: that stays so. */
#pragma once
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

static inline bool signal_is_ignored(int number)
{
	struct sigaction action;

	return sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}
