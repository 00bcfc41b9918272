/* SPDX-License-Identifier: MIT */
/* Streams of the C library. They read their numbers inside of it, where a placeholder cannot be served: the
 * number of one that lives is no placeholder, even if the program closed it and open(2) finds it free. */
#pragma once
#include <stdbool.h>

/* A stream is made of this number. */
void streams_add(int fd);
void streams_remove(int fd); /* before it is closed */
/* Whether the stream of this number, as far as we know, is not closed. */
bool streams_have(int fd);
