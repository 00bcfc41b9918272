/* SPDX-License-Identifier: MIT */
/* Owns the list of descriptors that streams of the C library use. Streams read inside the C library, where no hook is
 * called, so the number of an open stream never becomes a placeholder, even if the program closed the descriptor and
 * open(2) finds the number free. */
#pragma once
#include <stdbool.h>

/* Notes that a stream uses this descriptor. */
void streams_add(int fd);
void streams_remove(int fd); /* must be called before the stream is closed */
/* Whether a stream that uses this descriptor is still open, as far as is known. */
bool streams_have(int fd);
