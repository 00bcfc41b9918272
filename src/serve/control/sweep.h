/* SPDX-License-Identifier: MIT */
/* The thread that makes the kernel forget versions that were left, so that they can be closed. To drop a name the kernel takes
 * the lock of its directory, which among many readers may take a while: so nobody waits for this thread. */
#pragma once
#include "serve/serve.h"

/* fd: the mount's. Before the control thread starts. */
must_check int sweep_start(struct serve *serve, int fd, struct error *err);
/* Ends the thread; what may still be called then has no effect. Before control_stop(). */
void sweep_stop(struct sweep *sweep);
void sweep_free(struct sweep *sweep);

/* The rest is the control thread's, and does not wait for the kernel. */
/* Begins with one; false while another one is under way. Wakes the control thread at its end. */
bool sweep_begin(struct sweep *sweep, struct generation *generation);
bool sweep_is_busy(struct sweep *sweep);
/* What is under way ends with the notification that it is at. */
void sweep_cancel(struct sweep *sweep);
