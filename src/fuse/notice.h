/* SPDX-License-Identifier: MIT */
/* Writes one notification to the kernel, for invalidate.c and store.c. */
#pragma once
#include <sys/uio.h>

#include "base/error.h"

/* Writes iov, with the header as iov[0]. 0 or a negative errno; -ENOENT: the kernel does not know the node. */
must_check int notice_write(int fd, int code, struct iovec *iov, int count);
