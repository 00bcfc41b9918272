/* SPDX-License-Identifier: MIT */
/* A bit for each block or segment of a volume. Memory is taken only where bits are set. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct bits {
	uint64_t count;
	uint64_t *words;
};

must_check int bits_open(struct bits *bits, uint64_t count, struct error *err); /* all clear */
void bits_close(struct bits *bits); /* a zeroed one as well */
/* What lies behind the end is left out. */
void bits_set(struct bits *bits, uint64_t first, uint64_t count);
bool bits_get(const struct bits *bits, uint64_t number);
bool bits_any(const struct bits *bits, uint64_t first, uint64_t count);
uint64_t bits_sum(const struct bits *bits, uint64_t first, uint64_t count); /* how many are set */
/* The first set or clear bit from there on; bits->count when there is none. */
uint64_t bits_next(const struct bits *bits, uint64_t from, bool value);
