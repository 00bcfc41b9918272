/* SPDX-License-Identifier: MIT */
/* Reads that may never come back, whoever makes them: they are waited for up to a deadline. After that a read is
 * abandoned, and until it comes back there is no other of its kind at the same file or device. */
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
	int runs;           /* 1; 0 when it has come back, and whoever clears it wakes the waiter by futex(2) */
	bool is_abandoned;
	struct outstanding *next; /* in the list of abandoned ones */
};

/* Sets up a read of the file; its time begins. -ETIMEDOUT: an abandoned one is still out. release() frees
 * abandoned ones that have come back without outstanding_end(). */
must_check int outstanding_begin(enum outstanding_kind kind, int fd, void (*release)(struct outstanding *read),
				 struct outstanding *ret, struct error *err);
/* Waits until the read has come back. -ETIMEDOUT: it did not within patience ns; -EINTR: a signal came. In both cases
 * it is abandoned, and no longer the caller's. */
must_check int outstanding_wait(struct outstanding *read, int64_t patience, struct error *err);
/* Says that the read has come back. True: it was abandoned, and the caller is to free it. */
must_check bool outstanding_end(struct outstanding *read);
