/* SPDX-License-Identifier: MIT */
/* Uses the C library, for architectures without an assembler file. A failing call sets errno in the thread that
 * probes, which at that time only waits or no longer cares. */
#include "io/read_probe_call.h"

#include <errno.h>
#include <unistd.h>

READ_PROBE_BARE long read_probe_call(long number, long a, long b, long c, long d)
{
	long r = syscall(number, a, b, c, d);

	return r < 0 ? -errno : r;
}
