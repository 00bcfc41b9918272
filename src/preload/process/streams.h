/* SPDX-License-Identifier: MIT */
/* Owns the numbers that streams of the C library use. Streams read inside it, where no hook is called: a number whose
 * stream lives never becomes a placeholder, even if the program closed it and open(2) finds it free. */
#pragma once
#include <stdbool.h>

/* Notes that a stream is made of this number. */
void streams_add(int fd);
void streams_remove(int fd); /* must be called before the stream is closed */
/* Whether a stream of this number is still open, as far as is known. */
bool streams_have(int fd);
