/* SPDX-License-Identifier: MIT */
/* Whether a file or device answers. A process of its own that shares our memory reads a block of it: a thread that a
 * device keeps would keep our process from ending, for as long as the device is silent. */
#pragma once
#include <stdint.h>

#include "base/error.h"

struct knock;

/* Asks; the descriptor stays the caller's. */
must_check int knock_begin(int fd, struct knock **ret, struct error *err);
/* Frees it. -ETIMEDOUT: there is no answer so many ns after it was asked, or an earlier one is still out. -EINTR:
 * a signal came that ends the program (base/interrupt.h). That the read fails is an answer. */
must_check int knock_end(struct knock *knock, int64_t patience, struct error *err);
