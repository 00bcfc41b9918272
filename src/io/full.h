/* SPDX-License-Identifier: MIT */
/* No room for a write: of a file it is the filesystem that is full, not the volume. */
#pragma once
#include <errno.h>
#include <stdbool.h>

#define FULL_TEXT_SIZE 256u

/* Whether a write that failed with this errno found no room. */
static inline bool full_is(int code)
{
	return code == ENOSPC || code == EDQUOT;
}

/* "the filesystem '/mnt/scratch' is full", of the file that is open as fd; of a device "volume is full". */
void full_describe(int fd, int code, char text[FULL_TEXT_SIZE]);
