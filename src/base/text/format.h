/* SPDX-License-Identifier: MIT */
/* Turns values into text: sizes for people, hexadecimal, UUIDs, digests. The format of a volume is in
 * datasetfs/format.h. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#define UUID_TEXT_SIZE 37
void format_uuid(const uint8_t uuid[16], char text[UUID_TEXT_SIZE]);
void format_hex(const uint8_t *bytes, size_t size, char *text); /* text has room for 2 * size + 1 bytes */

#define DIGEST_TEXT_SIZE 72
/* Formats "sha256:9f86d0...", the form in which users pin a mount to a digest. */
void format_digest(const uint8_t digest[32], char text[DIGEST_TEXT_SIZE]);

#define SIZE_TEXT_SIZE 32
/* Formats a size for people, such as "1.4 GiB", and returns text. */
const char *format_size(uint64_t bytes, char text[SIZE_TEXT_SIZE]);
/* Formats a size exactly, in the form that parse_size() takes, such as "1400M", and returns text. */
const char *format_exact_size(uint64_t bytes, char text[SIZE_TEXT_SIZE]);
const char *format_plural(uint64_t count); /* returns the ending of a noun: "" after 1, else "s" */
