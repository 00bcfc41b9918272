/* SPDX-License-Identifier: MIT */
/* Text that a volume, a source, a target or another program chose, as a terminal may have it: tools/text.h for the
 * tools. What is logged goes through log.h, which does the same. */
#pragma once
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include "base/error.h"

/* Control characters and whatever else is not to be seen, what is not UTF-8, and the characters of refused become
 * \xNN. */
void shown_write(FILE *out, const void *bytes, size_t length, const char *refused);
/* A line or a part of one, as by printf(3). A newline is one at the beginning or the end of fmt only. */
void shown_print(FILE *out, const char *fmt, ...) printf_like(2, 3);
void shown_print_list(FILE *out, const char *fmt, va_list ap) printf_like(2, 0);
