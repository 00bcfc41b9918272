/* SPDX-License-Identifier: MIT */
/* Gathers the metrics of all mounts in parallel, each within a time limit. */
#pragma once
#include <stdbool.h>

#include "base/error.h"
#include "exporter/exposition.h"

struct collector;

/* timeout: seconds for a mount. */
must_check int collector_new(unsigned timeout, struct collector **ret, struct error *err);
void collector_free(struct collector *collector); /* NULL does nothing */

/* Starts asking all mounts, unless it is already doing so. */
must_check int collector_begin(struct collector *collector, struct error *err);
/* To be called when a child process has ended. */
void collector_reap(struct collector *collector);
bool collector_is_busy(const struct collector *collector);
/* The descriptor to poll for input, and for how many ms; -1: without a limit. */
int collector_fd(const struct collector *collector);
int collector_wait(const struct collector *collector);
/* Handles what has arrived. True: the round is over, because every mount answered or the time is up. */
bool collector_step(struct collector *collector);
/* Ends the round and returns its result. The caller frees it with exposition_free(). */
must_check int collector_finish(struct collector *collector, struct exposition **ret, struct error *err);
