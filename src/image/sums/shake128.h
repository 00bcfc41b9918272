/* SPDX-License-Identifier: MIT */
/* SHAKE-128 through libcrypto: any number of pseudo-random bytes, always the same ones for the same text. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

must_check int shake128_of(const char *text, uint8_t *out, size_t length, struct error *err);
