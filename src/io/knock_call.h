/* SPDX-License-Identifier: MIT */
/* A system call that touches no thread-local memory, not even errno: for a process that has that of another one. */
#pragma once

/* Nothing that is instrumented, either. */
#define KNOCK_BARE __attribute__((no_sanitize("address", "undefined", "thread"), noinline))

/* Returns what the kernel does: -errno on failure. */
long knock_call(long number, long a, long b, long c, long d);
