/* SPDX-License-Identifier: MIT */
/* A system call that touches no thread-local memory, not even errno: for a process that shares another's. */
#pragma once

/* Disables sanitizers, as their instrumentation uses thread-local memory too. */
#define READ_PROBE_BARE __attribute__((no_sanitize("address", "undefined", "thread"), noinline))

/* Returns the kernel's result: -errno on failure. */
long read_probe_call(long number, long a, long b, long c, long d);
