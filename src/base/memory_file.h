/* SPDX-License-Identifier: MIT */
/* Files in memory that processes share by their descriptors, see memfd_create(2). */
#pragma once
#include <stddef.h>

#include "base/error.h"

/* Makes one of size zero bytes, close-on-exec, to which seals may be added. Raises the limit on the size of files
 * (RLIMIT_FSIZE) for the moment if it is in the way. -EFBIG: it may not. */
must_check int memory_file_make(const char *name, size_t size, int *ret_fd, struct error *err);
