/* SPDX-License-Identifier: MIT */
/* Makes the engine by which a context has several reads in flight. A library that is preloaded into a program has none
 * (preload/absent.c), because the program did not ask for rings and threads. */
#pragma once
#include "io/engine.h"

/* Makes a ring or, if has_ring is false or the kernel refuses one, a pool of few threads. NULL: neither can be made. */
struct engine *engines_make_many(const struct engine_setup *setup, bool has_ring);
