/* SPDX-License-Identifier: MIT */
/* Puts the contents of a file into the kernel's page cache before the file is read.
 *
 * The kernel waits for pages that an unanswered READ covers. So the calling thread must owe no reply and hold nothing
 * that a worker needs: otherwise it and the worker wait for each other, and nothing but an abort of the connection ends
 * that. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Stores a whole regular file. size must be exactly the file's, neither cut short nor padded, or the kernel distrusts
 * the attributes that it has cached. 0 or a negative errno; -ENOENT: the kernel does not know the node, which it does
 * after a LOOKUP or READDIRPLUS. */
must_check int store_notify(int fd, uint64_t nodeid, const void *bytes, size_t size);
