/* SPDX-License-Identifier: MIT */
/* Owns maps with a bit for each block or segment of a volume. The kernel gives memory only where bits are set. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct bits {
	uint64_t count;
	uint64_t *words;
};

must_check int bits_open(struct bits *bits, uint64_t count, struct error *err); /* all bits are clear */
void bits_close(struct bits *bits); /* a zeroed map can be closed, too */
/* Sets bits; ignores those behind the end. */
void bits_set(struct bits *bits, uint64_t first, uint64_t count);
bool bits_get(const struct bits *bits, uint64_t number);
bool bits_any(const struct bits *bits, uint64_t first, uint64_t count);
uint64_t bits_sum(const struct bits *bits, uint64_t first, uint64_t count); /* returns how many are set */
/* Returns the first bit at or after from that has this value; bits->count: there is none. */
uint64_t bits_next(const struct bits *bits, uint64_t from, bool value);
