/* SPDX-License-Identifier: MIT */
/* A thread that answers READs for workers that hang: without io_uring a worker blocks in a read that a member does not
 * complete. The thread reads the same bytes from another member. It has at most eight reads in flight, each with memory
 * of its own. */
#pragma once
#include "base/error.h"
#include "serve/serve.h"
#include "serve/worker/counters.h"

struct standby;

/* Starts the thread and sets serve->standby. Call it before the workers run. Does nothing if the volume has one member
 * or workers read with io_uring. */
must_check int standby_start(struct serve *serve, struct error *err);
/* Has the thread look for READs that wait too long because a member does not answer. NULL is allowed. Any thread may
 * call this. */
void standby_look(struct standby *standby);
/* Ends the thread and frees it, after the workers have ended. False: the thread is stuck in a device and was left
 * running, so all memory that it uses must stay until the process ends. NULL is allowed. */
bool standby_stop(struct standby *standby);
/* Counters of the thread's reads and answers; NULL if there is no standby. */
const struct counters *standby_counters(const struct standby *standby);
