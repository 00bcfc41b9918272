/* SPDX-License-Identifier: MIT */
/* Keeps the bits in words of 64. */
#include "volume/space/bits.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#define WORD 64u

int bits_open(struct bits *bits, uint64_t count, struct error *err)
{
	*bits = (struct bits){ .count = count, .words = calloc(count / WORD + 1, sizeof(*bits->words)) };
	if (!bits->words)
		return error_no_memory(err);
	return 0;
}

void bits_close(struct bits *bits)
{
	free(bits->words);
	*bits = (struct bits){ 0 };
}

static uint64_t bits_end(const struct bits *bits, uint64_t first, uint64_t count)
{
	return first < bits->count && count < bits->count - first ? first + count : bits->count;
}

void bits_set(struct bits *bits, uint64_t first, uint64_t count)
{
	uint64_t end = bits_end(bits, first, count);

	for (uint64_t i = first; i < end; i++)
		bits->words[i / WORD] |= UINT64_C(1) << i % WORD;
}

bool bits_get(const struct bits *bits, uint64_t number)
{
	return number < bits->count && bits->words[number / WORD] >> number % WORD & 1;
}

uint64_t bits_next(const struct bits *bits, uint64_t from, bool value)
{
	const uint64_t skip = value ? 0 : UINT64_MAX; /* a word without the wanted value */

	while (from < bits->count) {
		if (from % WORD == 0 && bits->words[from / WORD] == skip)
			from += WORD;
		else if (bits_get(bits, from) == value)
			return from;
		else
			from++;
	}
	return bits->count;
}

bool bits_any(const struct bits *bits, uint64_t first, uint64_t count)
{
	return bits_next(bits, first, true) < bits_end(bits, first, count);
}

uint64_t bits_sum(const struct bits *bits, uint64_t first, uint64_t count)
{
	uint64_t end = bits_end(bits, first, count), sum = 0;

	for (uint64_t i = bits_next(bits, first, true); i < end; i = bits_next(bits, i + 1, true))
		sum++;
	return sum;
}
