/* SPDX-License-Identifier: MIT */
/* Characters in bytes that may hold anything. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Length of the UTF-8 sequence at text, of which left > 0 bytes are there; 0 when it is none (overlong, surrogate, out of
 * range). */
size_t utf8_length(const uint8_t *text, size_t left);
/* The same, but 0 for control characters as well, also U+0080 to U+009F: what a terminal shows and does not obey. */
size_t utf8_shown(const uint8_t *text, size_t left);
