/* SPDX-License-Identifier: MIT */
/* Who has a file locked by flock(2). /proc/locks names only the process that took the lock, and may have handed it
 * on. */
#pragma once
#include <stdbool.h>

#define LOCKER_TEXT_SIZE 128u

/* "process 1234 ('python3' of user 1001)": one that has the lock of the file open as fd. False when none can be seen:
 * it is another user's, in another container, or a loop device. */
bool locker_find(int fd, char text[LOCKER_TEXT_SIZE]);
