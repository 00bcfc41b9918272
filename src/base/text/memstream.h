/* SPDX-License-Identifier: MIT */
/* A stream into memory that grows, as by open_memstream(3), but fclose(3) fails if there was too little memory: glibc's
 * loses the rest of the text without an error. */
#pragma once
#include <stddef.h>
#include <stdio.h>

#include "base/error.h"

/* Sets *text, which ends with a NUL, and *length whenever the stream is flushed or closed; *text is for free(). NULL:
 * no memory, and *text is NULL. */
FILE *memstream_open(char **text, size_t *length);
/* Closes the stream. On failure *text is freed, and NULL. */
must_check int memstream_close(FILE *stream, char **text, struct error *err);
