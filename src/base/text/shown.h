/* SPDX-License-Identifier: MIT */
/* Writes text that a volume, a source, a target or another program chose, so that it is safe on a terminal.
 * tools/text.h wraps it for standard output of the tools; log.h does the same for log lines. */
#pragma once
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include "base/error.h"

/* Writes bytes, with control characters, invisible characters, invalid UTF-8 and the characters in refused as \xNN. */
void shown_write(FILE *out, const void *bytes, size_t length, const char *refused);
/* Prints a line or part of one like printf(3). Newlines stay newlines only at the beginning and the end of fmt. */
void shown_print(FILE *out, const char *fmt, ...) printf_like(2, 3);
void shown_print_list(FILE *out, const char *fmt, va_list ap) printf_like(2, 0);
