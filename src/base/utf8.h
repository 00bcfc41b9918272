/* SPDX-License-Identifier: MIT */
/* Finds UTF-8 characters in arbitrary bytes. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Decodes the character at text, which has left > 0 bytes, and returns its length. Returns 0 if it is not valid
 * UTF-8 (overlong, surrogate, out of range). */
size_t utf8_decode(const uint8_t *text, size_t left, uint32_t *ret);
/* Like utf8_decode(), but also returns 0 for characters that a terminal obeys instead of showing, or that make two
 * names look alike: control characters, also U+0080 to U+009F, text-direction controls, invisible characters. */
size_t utf8_shown(const uint8_t *text, size_t left);
#define UTF8_SHOWN_SIZE 5
/* Formats the character at text, or as \xNN its first byte, if utf8_shown() or the caller refuses it. Returns how many
 * bytes of text that took. */
size_t utf8_show(const uint8_t *text, size_t left, const char *refused, char ret[UTF8_SHOWN_SIZE]);
