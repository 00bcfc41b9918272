/* SPDX-License-Identifier: MIT */
/* Owns handles: the query of each, and its current version. */
#pragma once
#include "lib/lib.h"

/* Returns the current version with a use counted, which handle_put() gives back. NULL only after handle_end(). */
struct opened *handle_get(struct dsfs *fs);
void handle_put(struct opened *opened);

/* Gives the version up, which is closed when the calls that use it end. The handle itself stays, as another thread may
 * be about to look at it. */
void handle_end(struct dsfs *fs);
/* Forgets the uses that threads of the parent held. For a forked child that has made no call yet. */
void handle_forget_calls(struct dsfs *fs);
