/* SPDX-License-Identifier: MIT */
/* Members that were missing or stale at the mount, that were lost since, or that were replaced by others: they are
 * looked for as at a mount, and used from then on. */
#pragma once
#include "serve/serve.h"

/* By the control thread. Returns when to come back, ns, monotonic; 0: no member is looked for. */
int64_t rejoin_settle(struct serve *serve);
