/* SPDX-License-Identifier: MIT */
/* Makes the kernel forget old versions, so that they can be closed. It has a thread of its own, because to drop a
 * name the kernel takes the lock of its directory, which can take a while among many readers. No other thread waits for
 * it. */
#pragma once
#include "serve/serve.h"

/* Starts the thread and sets serve->prune. Call it before the control thread starts. */
must_check int prune_start(struct serve *serve, struct error *err);
/* Ends the thread; the functions below may still be called and then begin nothing. Call it before control_stop(). */
void prune_stop(struct prune *prune);
/* Frees it, after control_stop() returned true. NULL is allowed. */
void prune_free(struct prune *prune);

/* The functions below are for the control thread only, and never wait for the kernel. */
/* Schedules the pruning of a version that the mount left: it can be closed only when the kernel has forgotten it. It is
 * pruned at once and, while the kernel still knows something of it, again: a second later, then less often. */
void prune_left(struct serve *serve, struct generation *left);
/* Begins pruning that is due. Returns when to call it again, ns, monotonic; 0: when the control thread is woken or
 * switches. */
int64_t prune_settle(struct serve *serve);
/* Stops the pruning under way after its current notification. */
void prune_cancel(struct prune *prune);
