/* SPDX-License-Identifier: MIT */
/* How long a thread did not sleep: it ran, or waited for a CPU. */
#pragma once
#include <stdint.h>

/* Returns the ns for which the calling thread has run or waited for a CPU since it began. Where the kernel does not say
 * how long threads wait for a CPU, that part is left out. Costs some microseconds. */
int64_t busy_time(void);
