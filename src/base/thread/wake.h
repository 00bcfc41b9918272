/* SPDX-License-Identifier: MIT */
/* Wakes a waiting thread through an eventfd, which can be polled beside other descriptors. */
#pragma once
#include <stdint.h>

#include "base/error.h"

struct wake {
	int fd; /* readable from wake_up() to wake_take(); -1: closed */
};

must_check int wake_open(struct wake *wake, struct error *err);
void wake_close(struct wake *wake);

/* Wakes the waiting thread. Any thread may call it; NULL does nothing. */
void wake_up(const struct wake *wake);
/* Returns the number of wake-ups since the last call. */
uint64_t wake_take(const struct wake *wake);
/* Waits for a wake-up and consumes it, for at most timeout milliseconds; -1: no limit. */
void wake_wait(const struct wake *wake, int timeout);
