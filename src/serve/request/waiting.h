/* SPDX-License-Identifier: MIT */
/* READs that wait for the device: tells how long they have waited, answers those that wait too long, and has workers
 * try again. Any thread may call these functions while workers run, unless a comment says otherwise. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "serve/worker/worker.h"

#define WAITING_SECOND INT64_C(1000000000)
#define WAITING_STALL  WAITING_SECOND /* a device read that takes longer counts as a stall */

/* The time at which the worker's oldest waiting READ began to wait, ns, monotonic; 0: none waits. */
int64_t waiting_oldest(const struct worker *worker);
/* Whether the worker has parked reads, which waiting_retry() tries again. */
bool waiting_has_parked(const struct worker *worker);
/* Whether the volume may be lost: reads are parked, or one has failed since the last call because of the path to the
 * device. */
bool waiting_is_lost(struct worker *worker);
/* Answers EIO to READs that have waited past the deadline, and counts them in the caller's own counters. If the channel
 * has own_thread set, only the worker's thread may call this. */
void waiting_expire(struct worker *worker, struct counters *counters);
/* Answers reads past the page cache that have waited for a second and whose process was killed. Not for channels with
 * own_thread set. */
void waiting_release_killed(struct worker *worker, struct counters *counters);
/* Has the worker try parked reads again and, if its channel has own_thread set, answer those past the deadline. */
void waiting_retry(struct worker *worker);
/* Has the worker restart READs that wait for a member that does not answer, if other members have the bytes. */
void waiting_leave(struct worker *worker);
/* Has the worker's engine register the volume's descriptors again, because one now refers to another device or file,
 * and then retries as waiting_retry() does. */
void waiting_renew(struct worker *worker);
