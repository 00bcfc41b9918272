/* SPDX-License-Identifier: MIT */
/* Reads that may never come back, made by a thread or a process: the caller waits for one up to a deadline, then
 * abandons it. Until an abandoned read comes back, no other read of its kind begins on the same file or device. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/error.h"

enum outstanding_kind { OUTSTANDING_READ, OUTSTANDING_PROBE, OUTSTANDING_KINDS };

struct outstanding {
	enum outstanding_kind kind;
	bool heeds_signals; /* a signal that ends the program ends the wait, see base/program/interrupt.h */
	struct stat st;     /* identity of the file */
	int64_t since;      /* ns, monotonic */
	int runs;           /* 1; 0 once the read has come back: clearing it must wake the waiter by futex(2) */
	bool is_abandoned;
	struct outstanding *next; /* in the list of abandoned reads */
};

/* Sets up a read of the file open as fd and notes the time. -ETIMEDOUT: an abandoned read of that file has not come
 * back. release() frees abandoned reads that came back without a call to outstanding_end(). */
must_check int outstanding_begin(enum outstanding_kind kind, int fd, void (*release)(struct outstanding *read),
				 struct outstanding *ret, struct error *err);
/* Waits until the read has come back. -ETIMEDOUT: it did not within patience ns of outstanding_begin(); -EINTR: a
 * signal came. In both cases the read is abandoned and no longer the caller's. */
must_check int outstanding_wait(struct outstanding *read, int64_t patience, struct error *err);
/* Marks the read as come back. True: it was abandoned, and the caller must free it. */
must_check bool outstanding_end(struct outstanding *read);
