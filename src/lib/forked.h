/* SPDX-License-Identifier: MIT */
/* Which process this is: a forked child inherits memory that says otherwise. And the one lock of the library that is
 * free in a child. */
#pragma once
#include <stdint.h>

#include "base/error.h"

/* Before anything else here. in_child: called in the child of fork(2) before the program goes on, under the lock; not
 * in one of a bare clone(2). May be called again, with the same. */
must_check int forked_watch(void (*in_child)(void), struct error *err);
/* Another number in each forked child; never 0. One load where nothing has happened. */
uint64_t forked_generation(void);

/* Guards lists that are changed rarely. fork(2) waits for it, so that a child finds the lists whole. */
void forked_lock(void);
void forked_unlock(void);
