/* SPDX-License-Identifier: MIT */
/* Lets threads wake one that waits, with an eventfd that can be polled beside other descriptors. */
#pragma once
#include <stdint.h>

#include "base/error.h"

struct wake {
	int fd; /* readable from wake_up() to wake_take(); -1: closed */
};

must_check int wake_open(struct wake *wake, struct error *err);
void wake_close(struct wake *wake);

/* Any thread. NULL: nobody waits, nothing is done. */
void wake_up(const struct wake *wake);
/* How often it was woken since the last call. */
uint64_t wake_take(const struct wake *wake);
/* Until it is woken, or so many milliseconds; -1: no limit. Takes what woke it. */
void wake_wait(const struct wake *wake, int timeout);
