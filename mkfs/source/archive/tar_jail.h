/* SPDX-License-Identifier: MIT */
/* Takes all rights away from the process that decodes untrusted archives, and most from the one that fetches them. */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

/* Begins a process that was forked: it ends when the parent does, and no other process of the user may look into it. It
 * fails if the parent has ended already. */
must_check int tar_jail_begin(pid_t parent, struct error *err);
/* Restricts the process, which must have one thread: it can only read and write its open descriptors, allocate memory
 * up to a limit, and exit; every other system call fails. It sees no files, has no privileges, ends with its parent and
 * leaves no core file. empty: a directory in which a directory can be made and removed. file_size: how far an open file
 * may grow. */
must_check int tar_jail_enter(int empty, uint64_t file_size, struct error *err);
/* Makes the process nobody's, without capabilities, if root runs it: what tar_jail_enter() does except for the empty
 * root, the limits and the filter. */
must_check int tar_jail_drop_privileges(struct error *err);
/* Ignores the signals of a terminal: the packer ends the process when it is interrupted itself. */
void tar_jail_ignore_signals(void);
/* Closes all descriptors except those in kept. */
must_check int tar_jail_close_others(const int *kept, size_t count, struct error *err);
