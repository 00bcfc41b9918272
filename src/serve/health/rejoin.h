/* SPDX-License-Identifier: MIT */
/* Brings members back into use that were missing or stale at the mount, were lost since, or were replaced. Looks for
 * them as a mount does. */
#pragma once
#include <stdint.h>

#include "serve/serve.h"

struct rejoin {
	int64_t when; /* time of the next attempt, ns, monotonic */
};

/* Sets when to look first. Before the control thread runs. */
void rejoin_begin(const struct serve *serve, struct rejoin *rejoin);
/* Looks for members if that is due. Returns when to call it again, ns, monotonic; 0: all members are in use. Control
 * thread only. */
int64_t rejoin_settle(struct serve *serve, struct rejoin *rejoin);
