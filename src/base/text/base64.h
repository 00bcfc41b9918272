/* SPDX-License-Identifier: MIT */
/* Base64 as SSH writes it: the alphabet of RFC 4648, with padding. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/span.h"

/* Decodes a text, which may have line ends. False: it has other characters, wrong padding, or more than room bytes. */
bool base64_decode(struct span text, uint8_t *to, size_t room, size_t *ret_length);
/* Encodes without padding, NUL-terminated, as SSH shows fingerprints. text has room for 4 characters of each 3 bytes
 * or part of them, and 1. */
void base64_encode(const uint8_t *bytes, size_t length, char *text);
