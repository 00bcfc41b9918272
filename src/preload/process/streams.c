/* SPDX-License-Identifier: MIT */
/* Counts streams of small numbers; larger numbers are not looked at, and errors there end in EBADF. */
#include "preload/process/streams.h"

#include <stdint.h>

#define STREAMS_NUMBERS 1024

static _Atomic unsigned char streams[STREAMS_NUMBERS]; /* streams that have this number */

static bool streams_can_have(int fd)
{
	return fd >= 0 && fd < STREAMS_NUMBERS;
}

void streams_add(int fd)
{
	if (streams_can_have(fd) && streams[fd] < UINT8_MAX)
		streams[fd]++;
}

void streams_remove(int fd)
{
	if (streams_can_have(fd) && streams[fd])
		streams[fd]--;
}

bool streams_have(int fd)
{
	return streams_can_have(fd) && streams[fd];
}
