/* SPDX-License-Identifier: MIT */
/* Owns handles: the query of each one, and the version that it has now. */
#pragma once
#include "lib/lib.h"

/* Returns the current version with a use counted, which handle_put() gives back. NULL only after handle_end(). */
struct opened *handle_get(struct dsfs *fs);
void handle_put(struct opened *opened);

/* Gives the version up: it is closed when the calls that use it end. The handle itself stays, as a thread may be about
 * to look at it. */
void handle_end(struct dsfs *fs);
/* Forgets the uses of threads that the parent had. For a child that has made no call yet. */
void handle_forget_calls(struct dsfs *fs);
