/* SPDX-License-Identifier: MIT */
/* Makes the kernel forget old versions, so that they can be closed. It has a thread of its own, because to drop a
 * name the kernel takes the lock of its directory, which can take a while among many readers. Nobody waits for this
 * thread. */
#pragma once
#include "serve/serve.h"

/* Before the control thread starts. */
must_check int prune_start(struct serve *serve, struct error *err);
/* Ends the thread; what may still be called then has no effect. Before control_stop(). */
void prune_stop(struct prune *prune);
void prune_free(struct prune *prune);

/* The rest is the control thread's, and does not wait for the kernel. */
/* What the kernel knows of a version that was left is out of sight, but the version can be closed only without it. So
 * it is pruned at once and, while something is known, again: a second later, then less often. */
void prune_left(struct serve *serve, struct generation *left);
/* Begins what is due and returns when to call it again, ns, monotonic; 0: not before the control thread is woken or
 * switches. */
int64_t prune_settle(struct serve *serve);
/* What is under way ends with the notification that it is at. */
void prune_cancel(struct prune *prune);
