/* SPDX-License-Identifier: MIT */
/* Parses text into values: numbers, sizes, hexadecimal, UUIDs. Errors say what was found and what was expected. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

must_check int parse_u64(const char *text, uint64_t min, uint64_t max, uint64_t *ret, struct error *err);
/* Parses a size. The suffixes K, M, G and T are powers of 1024. */
must_check int parse_size(const char *text, uint64_t min, uint64_t max, uint64_t *ret, struct error *err);
/* Like parse_size(), but "off" and "0" give 0 whatever min is. */
must_check int parse_size_or_off(const char *text, uint64_t min, uint64_t max, uint64_t *ret, struct error *err);
must_check int parse_hex(const char *text, uint8_t *out, size_t size, struct error *err);
/* Parses "sha256:9f86d0...", the form in which users pin a mount to a digest. */
must_check int parse_digest(const char *text, uint8_t digest[32], struct error *err);
must_check int parse_uuid(const char *text, uint8_t uuid[16], struct error *err);
