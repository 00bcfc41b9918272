/* SPDX-License-Identifier: MIT */
/* Takes all rights away from the process that decodes untrusted archives. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Restricts the process, which must have one thread: it can only read and write its open descriptors, allocate memory
 * up to a limit, and exit; every other system call fails. It sees no files, has no privileges, ends with its parent and
 * leaves no core file. empty: a directory in which a directory can be made and removed. file_size: how far an open file
 * may grow. */
must_check int tar_jail_enter(int empty, uint64_t file_size, struct error *err);
/* Closes all descriptors except those in kept. */
must_check int tar_jail_close_others(const int *kept, size_t count, struct error *err);
