/* SPDX-License-Identifier: MIT */
/* Makes the kernel forget the old version's names, and what it has cached of the root, before a switch returns. */
#pragma once
#include "serve/serve.h"

/* On success no reply of the old version to a request by path is under way, and the kernel remembers no name of it.
 * Control thread only. */
must_check int announce_switch(struct serve *serve, struct generation *old, struct generation *new, struct error *err);
