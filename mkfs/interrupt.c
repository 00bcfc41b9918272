/* SPDX-License-Identifier: MIT */
/* One flag that every loop of the packer looks at. */
#include "interrupt.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/signal.h"

static atomic_bool interrupted;

static void interrupt_handle(int signal_number)
{
	(void)signal_number;
	atomic_store(&interrupted, true);
}

void interrupt_install(void)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	struct sigaction action = { .sa_handler = interrupt_handle }; /* no SA_RESTART: a wait for input ends */

	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		if (!signal_is_ignored(signals[i]))
			sigaction(signals[i], &action, NULL);
	signal(SIGPIPE, SIG_IGN); /* nobody reads the progress: no reason to stop */
}

int interrupt_check(struct error *err)
{
	if (atomic_load_explicit(&interrupted, memory_order_relaxed))
		return error_set(err, -EINTR, "interrupted");
	return 0;
}
