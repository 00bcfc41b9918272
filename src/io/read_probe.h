/* SPDX-License-Identifier: MIT */
/* Tests whether a file or device answers, by a read in a separate process that shares our memory. A thread would not
 * do: if the device hangs, our process could not exit before it answers. */
#pragma once
#include <stdint.h>

#include "base/error.h"

struct knock;

/* Starts the read; the descriptor stays the caller's. -ETIMEDOUT: an earlier knock there is still pending. */
must_check int knock_begin(int fd, struct knock **ret, struct error *err);
/* Waits for the answer and frees the knock; a failed read is an answer. -ETIMEDOUT: there is none patience ns after
 * knock_begin(). -EINTR: a signal came that ends the program (base/program/interrupt.h). */
must_check int knock_end(struct knock *knock, int64_t patience, struct error *err);
