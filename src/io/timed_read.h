/* SPDX-License-Identifier: MIT */
/* Reads files and devices that may hang: a separate thread does the read, and the caller waits for a limited time.
 * After that it abandons the read; until that returns, further reads of the same file or device fail at once. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define BOUNDED_ENDLESS (INT64_MAX / 4) /* ns: no limit, but a signal that ends the program ends the wait */

typedef int bounded_read_fn(int fd, uint64_t offset, uint8_t *buffer, size_t length, struct error *err);

/* Calls read() in another thread. -ETIMEDOUT: it did not return within patience (ns), or an earlier read of the same
 * file or device still hangs. Buffer and descriptor stay the caller's in any case. Any thread may call it. */
must_check int bounded_read(bounded_read_fn *read, int64_t patience, int fd, uint64_t offset, uint8_t *buffer,
			    size_t length, struct error *err);

struct bounded;
/* Split a bounded read in two, so that several run at once. patience counts from bounded_begin(). -EINTR, only
 * without a limit: a signal came that ends the program. bounded_end() frees it or leaves it to its thread. */
must_check int bounded_begin(bounded_read_fn *read, int64_t patience, int fd, uint64_t offset, size_t length,
			     struct bounded **ret, struct error *err);
must_check int bounded_end(struct bounded *bounded, uint8_t *buffer, struct error *err);
