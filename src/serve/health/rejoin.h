/* SPDX-License-Identifier: MIT */
/* Brings members back into use that were missing or stale at the mount, were lost since, or were replaced. It looks for
 * them as a mount does. */
#pragma once
#include "serve/serve.h"

/* Looks for members if that is due. Returns when to call it again, ns, monotonic; 0: all members are in use. Control
 * thread only. */
int64_t rejoin_settle(struct serve *serve);
