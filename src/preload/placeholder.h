/* SPDX-License-Identifier: MIT */
/* Descriptors that stand for a file: copies of one that was opened with O_PATH on a symbolic link. Calls that
 * we do not know of fail on them with EBADF, and opening them again with ELOOP: nothing is ever read that is
 * not the file's. They keep no mount busy. All this is called inside. */
#pragma once
#include <stdbool.h>

/* Opens what is copied, once. */
bool placeholder_prepare(void);
/* The lowest free number, as open(2) gives; negative when there is none that can be had. flags: O_CLOEXEC or 0. */
int placeholder_new(int flags);
/* A number that is kept for when the program has used up all of them. True: it is free until placeholder_respare(),
 * unless another thread is faster. */
bool placeholder_spare(void);
void placeholder_respare(void);
/* Whether the number is one still: the program may have closed it unseen, and got it again for something else. */
bool placeholder_is(int fd);
