/* SPDX-License-Identifier: MIT */
/* Gathers the metrics of all mounts, side by side and each within a limit of time. */
#pragma once
#include <stdbool.h>

#include "base/error.h"
#include "exporter/exposition.h"

struct collector;

/* timeout: seconds for a mount. */
must_check int collector_new(unsigned timeout, struct collector **ret, struct error *err);
void collector_free(struct collector *collector); /* NULL does nothing */

/* Begins to ask all mounts, if that is not under way. */
must_check int collector_begin(struct collector *collector, struct error *err);
/* A process has ended. */
void collector_reap(struct collector *collector);
bool collector_is_busy(const struct collector *collector);
/* To be polled for something to read, for so many ms; -1: as long as it takes. */
int collector_fd(const struct collector *collector);
int collector_wait(const struct collector *collector);
/* Goes on with what has come. True: all that will come has come, or the time is over. */
bool collector_step(struct collector *collector);
/* Then: what came of it. exposition_free() it. */
must_check int collector_finish(struct collector *collector, struct exposition **ret, struct error *err);
