/* SPDX-License-Identifier: MIT */
/* Tells a forked child from its parent, whose memory it inherits, and owns the one lock of the library that is free in
 * a child. */
#pragma once
#include <stdint.h>

#include "base/error.h"

/* Must be called before anything else here; later calls change nothing. */
must_check int forked_watch(struct error *err);
/* From now on fork(2) calls in_child under the lock, in the child, before the program goes on; a bare clone(2) does
 * not. There is one such function: a later call replaces it. */
void forked_call_in_child(void (*in_child)(void));
/* Returns a number, never 0, that differs in each forked child. Costs one load where nothing has happened. */
uint64_t forked_generation(void);

/* Guards lists that rarely change. fork(2) waits for this lock, so that a child finds the lists whole. */
void forked_lock(void);
void forked_unlock(void);
