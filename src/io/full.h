/* SPDX-License-Identifier: MIT */
/* Describes a write that found no room. For a file, the filesystem is full and not the volume. */
#pragma once
#include <errno.h>
#include <stdbool.h>

#define FULL_TEXT_SIZE 256u

/* True if a write that failed with this errno found no room. */
static inline bool full_is(int code)
{
	return code == ENOSPC || code == EDQUOT;
}

/* Writes "the filesystem '/mnt/scratch' is full" about the file open as fd; for a device "volume is full". */
void full_describe(int fd, int code, char text[FULL_TEXT_SIZE]);
