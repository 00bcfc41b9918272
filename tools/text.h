/* SPDX-License-Identifier: MIT */
/* Formats values from a volume for people. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "base/span.h"

#define TEXT_REFUSED "'\\"
/* Writes bytes, with control characters, invalid UTF-8, quotes and backslashes as \xNN, so that a file name cannot
 * control the terminal. */
void text_write(FILE *out, const void *bytes, size_t length);
/* Prints a line or a part of one like printf(3), for words that a volume, a target or another program's mount chose:
 * escapes them like text_write(), except quotes and backslashes. Newlines stay newlines only at the beginning and the
 * end of fmt. */
void text_print(const char *fmt, ...) printf_like(1, 2);

/* Enters a locale for text_columns(). Returns whether the environment's locale, and so the terminal, has UTF-8. */
bool text_enter_locale(void);
/* Returns how many columns UTF-8 text takes on a terminal. */
size_t text_columns(const char *text, size_t length);

#define TEXT_TIME_SIZE 48
/* Formats a time like "2026-11-21 03:18:00", in UTC. Returns text. */
const char *text_time(int64_t seconds, char text[TEXT_TIME_SIZE]);

#define TEXT_SPAN_SIZE 32
/* Formats a duration in its two largest units: "2 d 3 h", "4 min 5 s", "12 s". Returns text. */
const char *text_span(double seconds, char text[TEXT_SPAN_SIZE]);

/* Prints an attribute as a JSON object: an each() for inode_xattrs() with a struct json as its argument. */
int text_json_xattr(void *argument, struct span name, struct span value);

/* Returns the type of a file in words: "regular file", "directory", "symlink". */
const char *text_type(uint32_t mode);
