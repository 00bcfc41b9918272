/* SPDX-License-Identifier: MIT */
/* A handle: which version it has now, and what it was asked for. */
#pragma once
#include "lib/lib.h"

/* The version that the handle has now, for one call; handle_put() ends that. NULL after handle_end() only. */
struct opened *handle_get(struct dsfs *fs);
void handle_put(struct opened *opened);

/* Gives the version up: it is closed when the calls that use it end. The handle stays, as a thread may be about to
 * look at it. */
void handle_end(struct dsfs *fs);
/* In a child that has made no call yet: forgets the calls that threads of its parent were making. */
void handle_forget_calls(struct dsfs *fs);

/* Whether the id is one of this version: -ESTALE. */
must_check int handle_check_id(const struct opened *opened, uint64_t id, struct error *err);
