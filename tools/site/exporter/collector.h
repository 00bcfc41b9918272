/* SPDX-License-Identifier: MIT */
/* Gathers the metrics of all mounts in parallel, each within a time limit. */
#pragma once
#include <stdbool.h>

#include "base/error.h"
#include "exporter/exposition.h"

struct collector;

/* Makes a collector. timeout: seconds for each mount. */
must_check int collector_new(unsigned timeout, struct collector **ret, struct error *err);
void collector_free(struct collector *collector); /* NULL does nothing */

/* Begins a round, which asks all mounts, unless one is under way. */
must_check int collector_begin(struct collector *collector, struct error *err);
/* Forgets the processes that it had given up and that have ended since. Call it when a child process has ended. */
void collector_reap(struct collector *collector);
/* Returns the descriptor to poll for input. */
int collector_fd(const struct collector *collector);
/* Returns for how many ms to poll; -1: without a limit. */
int collector_wait(const struct collector *collector);
/* Handles answers that have arrived. True: the round is over, because every mount answered or the time is up. */
bool collector_step(struct collector *collector);
/* Ends the round and returns its result. The caller frees it with exposition_free(). */
must_check int collector_finish(struct collector *collector, struct exposition **ret, struct error *err);
