/* SPDX-License-Identifier: MIT */
/* By the C library, where no assembler file has it. A call that fails sets errno in the thread that asked, which then
 * waits or asks no more. */
#include "io/knock_call.h"

#include <errno.h>
#include <unistd.h>

KNOCK_BARE long knock_call(long number, long a, long b, long c, long d)
{
	long r = syscall(number, a, b, c, d);

	return r < 0 ? -errno : r;
}
