/* SPDX-License-Identifier: MIT */
/* Without io_uring a worker hangs in the very read that a member does not answer: a thread beside the workers reads
 * what they wait for from another member, and answers. Eight reads at a time at most, each with memory of its own. */
#pragma once
#include "base/error.h"
#include "serve/serve.h"
#include "serve/worker/counters.h"

struct standby;

/* serve->standby; before the workers run. Nothing for a volume of one member, with io_uring, or over io_uring. */
must_check int standby_start(struct serve *serve, struct error *err);
/* Any thread: a member does not answer. */
void standby_look(struct standby *standby);
/* When the workers have ended. False: a device keeps it, and what it uses must stay until the process ends. */
bool standby_stop(struct standby *standby);
/* What it read and answered; NULL: there is none. */
const struct counters *standby_counters(const struct standby *standby);
