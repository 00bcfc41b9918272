/* SPDX-License-Identifier: MIT */
/* Writes one notification to the kernel, for invalidate.c and store.c. */
#pragma once
#include <stdatomic.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/error.h"

/* Writes iov, with the header as iov[0]. 0 or a negative errno; -ENOENT: the kernel does not know the node. */
must_check int notice_write(int fd, int code, struct iovec *iov, int count);
/* The same for one that waits for a page or a directory, and so perhaps for the answer to a request. Counted. */
must_check int notice_write_and_wait(int fd, int code, struct iovec *iov, int count);
/* Counts there from now on how many threads are in notice_write_and_wait(). NULL: nowhere. No thread may be in it. */
void notice_count(_Atomic uint32_t *place);
