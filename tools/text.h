/* SPDX-License-Identifier: MIT */
/* Formats values from a volume for people. */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "base/span.h"

/* Control characters, what is not UTF-8, quotes and backslashes become \xNN,
 * so a file name cannot write to the terminal. */
void text_write(FILE *out, const void *bytes, size_t length);
/* A line or a part of one, as by printf(3), of words that a volume, a target or another program's mount chose:
 * the same, but quotes and backslashes stay. A newline is one at the beginning or the end of fmt only. */
void text_print(const char *fmt, ...) printf_like(1, 2);
void text_print_to(FILE *out, const char *fmt, ...) printf_like(2, 3);

#define TEXT_TIME_SIZE 48
/* "2026-11-21 03:18:00", in UTC. Returns text. */
const char *text_time(int64_t seconds, char text[TEXT_TIME_SIZE]);

#define TEXT_SPAN_SIZE 32
/* "2 d 3 h", "4 min 5 s", "12 s": the two largest units. Returns text. */
const char *text_span(double seconds, char text[TEXT_SPAN_SIZE]);

/* An attribute as a JSON object: each() of inode_xattrs(), whose argument is a struct json. */
int text_json_xattr(void *argument, struct span name, struct span value);

/* "regular file", "directory", "symlink". */
const char *text_type(uint32_t mode);
