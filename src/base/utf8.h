/* SPDX-License-Identifier: MIT */
/* Finds UTF-8 characters in arbitrary bytes. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Length of the UTF-8 sequence at text, of which left > 0 bytes are there, and its code point;
 * 0 when it is none (overlong, surrogate, out of range). */
size_t utf8_decode(const uint8_t *text, size_t left, uint32_t *ret);
/* Its length, but 0 too for what a terminal obeys and does not show, or what makes a name look like another one:
 * control characters, also U+0080 to U+009F, controls of the text's direction, invisible characters. */
size_t utf8_shown(const uint8_t *text, size_t left);
