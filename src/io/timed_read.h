/* SPDX-License-Identifier: MIT */
/* Reads files and devices that may hang: a separate thread does the read, and the caller waits for a limited time.
 * After that it abandons the read; until that returns, further reads of the same file or device fail at once. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define TIMED_READ_ENDLESS (INT64_MAX / 4) /* ns: no limit, but a signal that ends the program ends the wait */

struct timed_read_setup {
	int (*read)(int fd, uint64_t offset, uint8_t *buffer, size_t length, struct error *err);
	int fd;
	int64_t patience; /* ns */
};

/* Calls read() in another thread. -ETIMEDOUT: it did not return within patience, or an earlier read of the same file or
 * device still hangs. Buffer and descriptor stay the caller's in any case. Any thread may call it. */
must_check int timed_read(const struct timed_read_setup *setup, uint64_t offset, uint8_t *buffer, size_t length,
			  struct error *err);

struct timed_read;
/* timed_read_begin() and timed_read_end() split a timed read in two, so that several run at once. patience counts from
 * timed_read_begin(). -EINTR, only without a limit: a signal came that ends the program. timed_read_end() frees the
 * read or leaves it to its thread. */
must_check int timed_read_begin(const struct timed_read_setup *setup, uint64_t offset, size_t length,
				struct timed_read **ret, struct error *err);
must_check int timed_read_end(struct timed_read *timed, uint8_t *buffer, struct error *err);
