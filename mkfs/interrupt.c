/* SPDX-License-Identifier: MIT */
/* One flag that every loop of the packer looks at. */
#include "interrupt.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_bool interrupted;

static void interrupt_handle(int signal_number)
{
	(void)signal_number;
	atomic_store(&interrupted, true);
}

void interrupt_install(void)
{
	struct sigaction action = { .sa_handler = interrupt_handle, .sa_flags = (int)SA_RESETHAND | SA_RESTART };

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

void interrupt_raise(void)
{
	atomic_store(&interrupted, true);
}

void interrupt_clear(void)
{
	atomic_store(&interrupted, false);
}

int interrupt_check(struct error *err)
{
	if (atomic_load_explicit(&interrupted, memory_order_relaxed))
		return error_set(err, -EINTR, "interrupted");
	return 0;
}
