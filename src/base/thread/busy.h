/* SPDX-License-Identifier: MIT */
/* How long a thread did not sleep: it ran, or waited for a CPU. */
#pragma once
#include <stdint.h>

struct busy {
	int64_t ran, waited; /* ns for which a thread has run, and for which it has waited for a CPU, since it began */
};

/* Looks at the calling thread. Where the kernel does not say how long threads wait for a CPU, that is 0. Costs some
 * microseconds. */
struct busy busy_look(void);
