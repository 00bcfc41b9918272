/* SPDX-License-Identifier: MIT */
/* Owns placeholders: descriptors that stand for a file, copies of one that was opened with O_PATH on a symbolic link.
 * Calls that we do not know fail on them with EBADF, and reopening them with ELOOP: no other file is ever read. They
 * keep no mount busy. All calls are made inside (inside.h). */
#pragma once
#include <stdbool.h>

/* Opens the descriptor that placeholders are copies of, once; false: it cannot be opened. */
bool placeholder_prepare(void);
/* Makes a placeholder at the lowest free number, as open(2) does; negative: no descriptor can be had. flags: O_CLOEXEC
 * or 0. */
int placeholder_new(int flags);
/* Closes the spare descriptor, which is kept for when the program has used up all numbers. True: its number is free,
 * unless another thread takes it first, until placeholder_respare() opens a new spare. */
bool placeholder_spare(void);
void placeholder_respare(void);
/* Whether the descriptor still is a placeholder: the program may have closed it unnoticed, and got its number for
 * another file. */
bool placeholder_is(int fd);
