/* SPDX-License-Identifier: MIT */
/* READs that wait for the device: since when, who answers those that have waited too long, and how the worker comes
 * to try again. Any thread; it looks at workers while they run. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "serve/worker/worker.h"

#define WAITING_SECOND INT64_C(1000000000)
#define WAITING_STALL  WAITING_SECOND /* a device read that takes longer is a stall */

/* Since when the worker's oldest read waits, ns, monotonic; 0: none does. */
int64_t waiting_oldest(const struct worker *worker);
/* Whether reads are parked: they are tried again by waiting_retry(). */
bool waiting_has_parked(const struct worker *worker);
/* Whether reads failed, since the last call, in a way that the volume may be elsewhere. */
bool waiting_is_lost(struct worker *worker);
/* The number of the slot's READ, if it has waited since before that time; else 0. */
uint64_t waiting_number(const struct worker *worker, size_t slot, int64_t before);
/* Answers EIO to what waits for longer than the deadline; counted in counters, which are the caller's. The worker's
 * thread alone where its channel wants that (own_thread), else any. */
void waiting_expire(struct worker *worker, struct counters *counters);
/* Not where the channel wants its own thread: answers reads past the page cache whose process was killed. */
void waiting_release_killed(struct worker *worker, struct counters *counters);
/* The worker is to try again what has failed, and where its channel wants its own thread to do what waiting_expire()
 * does. */
void waiting_retry(struct worker *worker);
/* The worker is to begin again what waits at a member that does not answer, and that others have. */
void waiting_leave(struct worker *worker);
/* The worker is to try again what has failed, and the volume's descriptor leads elsewhere. */
void waiting_renew(struct worker *worker);
