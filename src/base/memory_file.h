/* SPDX-License-Identifier: MIT */
/* Files in memory that processes share by their descriptors, see memfd_create(2). */
#pragma once
#include <stddef.h>

#include "base/error.h"

/* Makes one of size zero bytes, close-on-exec, to which seals may be added. It may be larger than the soft limit
 * on the size of files (RLIMIT_FSIZE), which stays as it is. -EFBIG: the hard limit forbids it. */
must_check int memory_file_make(const char *name, size_t size, int *ret_fd, struct error *err);
