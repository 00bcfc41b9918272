/* SPDX-License-Identifier: MIT */
/* Writes one notification to the kernel: what invalidate.c and store.c have in common. */
#pragma once
#include <sys/uio.h>

#include "base/error.h"

/* iov[0] is left for the header. 0 or a negative errno; -ENOENT where the kernel does not know the node. */
must_check int notice_write(int fd, int code, struct iovec *iov, int count);
