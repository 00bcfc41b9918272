/* SPDX-License-Identifier: MIT */
/* Reads of files and devices that may hang, each by a thread of its own, for which the caller waits for a bounded time.
 * After that the read is left, and nobody waits for that file or device again before it lets go of it. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

typedef int bounded_read_fn(int fd, uint64_t offset, uint8_t *buffer, size_t length, struct error *err);

/* As read() with these arguments. -ETIMEDOUT: it has not come back in time, or an earlier one of the same file or
 * device has not yet. patience: ns. The buffer and the descriptor are the caller's in any case. Any thread. */
must_check int bounded_read(bounded_read_fn *read, int64_t patience, int fd, uint64_t offset, uint8_t *buffer,
			    size_t length, struct error *err);
