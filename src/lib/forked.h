/* SPDX-License-Identifier: MIT */
/* Tells a forked child, which inherits the memory of its parent, from that parent, and owns the one lock of the library
 * that is free in a child. */
#pragma once
#include <stdint.h>

#include "base/error.h"

/* Must be called before anything else here; later calls change nothing. */
must_check int forked_watch(struct error *err);
/* Makes fork(2) call in_child in the child, under the lock, before the program goes on. A bare clone(2) does not call
 * it. There is one such function: a later call replaces it. */
void forked_call_in_child(void (*in_child)(void));
/* Returns a number, never 0, that differs in each forked child. Costs one load where nothing has happened. */
uint64_t forked_generation(void);

/* Guards lists that rarely change. fork(2) waits for this lock, so that a child finds the lists whole. */
void forked_lock(void);
void forked_unlock(void);
