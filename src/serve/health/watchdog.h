/* SPDX-License-Identifier: MIT */
/* Watches reads that wait for the device, once a second, from a thread that never touches the device: logs stalls, has
 * failed reads tried again, and answers those past the deadline. */
#pragma once
#include <stdint.h>

#include "base/error.h"
#include "serve/serve.h"
#include "serve/worker/counters.h"

/* Starts the thread and sets serve->watchdog. The workers must exist but need not run yet. */
must_check int watchdog_start(struct serve *serve, struct error *err);
void watchdog_stop(struct watchdog *watchdog); /* ends the thread; NULL is allowed */
/* Frees the object, which no worker may use any more. NULL is allowed. */
void watchdog_free(struct watchdog *watchdog);

struct watchdog_stalls {
	uint64_t since;  /* start of the current stall, seconds since 1970; 0: none */
	uint64_t count;  /* stalls since the mount */
	double longest;  /* longest stall in seconds, including the current one */
};
/* The stalls of device reads. Any thread may call this. */
struct watchdog_stalls watchdog_stalls(const struct watchdog *watchdog);
/* Counters of the requests that this thread answered. */
const struct counters *watchdog_counters(const struct watchdog *watchdog);
