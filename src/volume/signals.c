/* SPDX-License-Identifier: MIT */
/* SIGINT, SIGTERM, SIGHUP and SIGQUIT. */
#include "volume/signals.h"

#include <errno.h>
#include <stddef.h>

#include "base/signal.h"

static const int signals_deadly[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
#define SIGNALS_COUNT (sizeof(signals_deadly) / sizeof(*signals_deadly))

void signals_hold(sigset_t *former)
{
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < SIGNALS_COUNT; i++)
		sigaddset(&set, signals_deadly[i]);
	sigprocmask(SIG_BLOCK, &set, former);
}

void signals_release(const sigset_t *former)
{
	sigprocmask(SIG_SETMASK, former, NULL);
}

/* One that is ignored waits all the same while it is held back. */
int signals_check(struct error *err)
{
	sigset_t pending;

	sigpending(&pending);
	for (size_t i = 0; i < SIGNALS_COUNT; i++)
		if (sigismember(&pending, signals_deadly[i]) == 1 && !signal_is_ignored(signals_deadly[i]))
			return error_set(err, -EINTR, "interrupted");
	return 0;
}
