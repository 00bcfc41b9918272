/* SPDX-License-Identifier: MIT */
/* Takes every right away from a process that decodes what strangers made. */
#pragma once
#include <stddef.h>

#include "base/error.h"

/* From here on the process can read and write the descriptors that it has, allocate memory up to a limit, and end;
 * every other system call fails. It sees no file, has no user, ends with its parent and leaves no core. empty: a
 * directory in which one can be made and removed at once. Only for a process with one thread. */
must_check int tar_jail_enter(int empty, struct error *err);
/* Closes all descriptors but these. */
must_check int tar_jail_close_others(const int *kept, size_t count, struct error *err);
