/* SPDX-License-Identifier: MIT */
/* Looks for members that were missing or stale at the mount, were lost since, or were replaced by others, as a mount
 * would, and uses them from then on. */
#pragma once
#include "serve/serve.h"

/* By the control thread. Returns when to come back, ns, monotonic; 0: no member is looked for. */
int64_t rejoin_settle(struct serve *serve);
