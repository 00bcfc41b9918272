/* SPDX-License-Identifier: MIT */
/* Makes the kernel forget old versions, so that they can be closed. It has a thread of its own, because the kernel
 * locks a directory to drop a name in it, and may wait long for the lock if many programs read there. No other thread
 * waits for it. */
#pragma once
#include "serve/serve.h"

/* Starts the thread and sets serve->prune. Call it before the control thread starts. */
must_check int prune_start(struct serve *serve, struct error *err);
/* Ends the thread; the functions below may still be called, but then do nothing. Call it before control_stop(). */
void prune_stop(struct prune *prune);
/* Frees the object, after control_stop() returned true. NULL is allowed. */
void prune_free(struct prune *prune);

/* The functions below are for the control thread only, and never wait for the kernel. */
/* Schedules the pruning of a version that the mount no longer serves, which can be closed only when the kernel has
 * forgotten it. It is pruned at once, again a second later, then less and less often, until the kernel knows nothing of
 * it. */
void prune_left(struct serve *serve, struct generation *left);
/* Schedules the pruning of versions that are not current, if the number of names that the kernel holds of them is
 * unknown and pruning is not scheduled already: they may have been left before this process began. prune_settle() calls
 * it too. */
void prune_adopted(struct serve *serve);
/* Begins pruning that is due. Returns when to call it again, ns, monotonic; 0: when the control thread is woken or
 * switches. */
int64_t prune_settle(struct serve *serve);
/* Stops the pruning under way after its current notification. */
void prune_cancel(struct prune *prune);
