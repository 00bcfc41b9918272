/* SPDX-License-Identifier: MIT */
/* Keeps the numbers in a hash table with open addressing, at most three quarters full. */
#include "describe/survey/seen.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/random.h>

int seen_open(struct seen *seen, uint64_t most, struct error *err)
{
	*seen = (struct seen){ .count = most + most / 3 + 16 };
	if (getrandom(&seen->factor, sizeof(seen->factor), 0) != sizeof(seen->factor))
		return error_errno(err, "no random numbers");
	seen->factor |= 1;
	seen->slots = calloc(seen->count, sizeof(*seen->slots));
	if (!seen->slots)
		return error_no_memory(err);
	return 0;
}

void seen_close(struct seen *seen)
{
	free(seen->slots);
	*seen = (struct seen){ 0 };
}

bool seen_add(struct seen *seen, uint64_t number)
{
	uint64_t at = (uint64_t)((unsigned __int128)(number * seen->factor) * seen->count >> 64);
	bool had_zero = seen->has_zero;

	seen->has_zero |= number == 0;
	if (number == 0)
		return !had_zero;
	for (uint64_t looked_at = 0; seen->slots[at]; looked_at++) {
		if (seen->slots[at] == number)
			return false;
		assert(looked_at < seen->count);
		at = at + 1 == seen->count ? 0 : at + 1;
	}
	seen->slots[at] = number;
	return true;
}
