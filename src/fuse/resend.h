/* SPDX-License-Identifier: MIT */
/* Has the kernel send requests again that a dead server had read and not answered. */
#pragma once
#include "base/error.h"

/* Puts all such requests of the connection's clones back into the queue: FUSE_NOTIFY_RESEND, protocol 7.40 (Linux 6.9).
 * They come with WIRE_UNIQUE_RESEND in their number, and wake threads that wait for their pages in a store. Answers
 * under the number of before get ENOENT and change nothing. -EINVAL: the kernel does not know it.
 *
 * Read until there is nothing before: kernels may free an INTERRUPT that is still in their list beside a request that
 * is sent again. What a dying thread reads after this call is in no list, so call it again when it is gone. Returns 0
 * also if the filesystem is unmounted. */
must_check int resend_all(int fd, struct error *err);
