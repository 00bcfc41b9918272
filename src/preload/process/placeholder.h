/* SPDX-License-Identifier: MIT */
/* Owns placeholders: descriptors that stand for a file, copies of one that was opened with O_PATH on a symbolic link.
 * Calls that we do not know fail on them with EBADF, and reopening them with ELOOP: no other file is ever read. They
 * keep no mount busy. All calls are made inside (inside.h). */
#pragma once
#include <stdbool.h>

/* Opens the descriptor that is copied, once; false: it could not. */
bool placeholder_prepare(void);
/* Makes a placeholder at the lowest free number, as open(2) does; negative: none can be had. flags: O_CLOEXEC or 0. */
int placeholder_new(int flags);
/* Frees the number that is kept for when the program has used up all. True: it is free until placeholder_respare(),
 * unless another thread is faster. */
bool placeholder_spare(void);
void placeholder_respare(void);
/* Whether the number still is a placeholder: the program may have closed it unseen, and got it for another file. */
bool placeholder_is(int fd);
