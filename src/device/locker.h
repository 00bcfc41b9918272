/* SPDX-License-Identifier: MIT */
/* Finds the process that holds a file's flock(2). /proc/locks names only the process that took it, which may have
 * handed it on. */
#pragma once
#include <stdbool.h>

#define LOCKER_TEXT_SIZE 128u

/* Describes one holder of the lock of the file open as fd: "process 1234 ('python3' of user 1001)". False if none
 * can be seen: it is another user's, in another container, or a loop device. */
bool locker_find(int fd, char text[LOCKER_TEXT_SIZE]);
