/* SPDX-License-Identifier: MIT */
/* A Feistel network on a grid. A round moves a cell down by a number that its column has, then to the right by one that
 * its new row has. What gets outside the length goes through the network again until it does not. */
#include "lib/shuffle/permutation.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "image/sums/shake128.h"

#define PERMUTATION_ROUNDS 3u

static uint64_t permutation_root(uint64_t number)
{
	uint64_t root = 0;

	for (uint64_t bit = UINT64_C(1) << 31; bit; bit >>= 1)
		if ((root + bit) * (root + bit) <= number)
			root += bit;
	return root;
}

static int permutation_draw(struct permutation *permutation, const char *key, struct error *err)
{
	size_t count = 2 * PERMUTATION_ROUNDS * permutation->wide;
	auto_free dsfs_le32 *numbers = calloc(count, sizeof(*numbers));
	char text[PERMUTATION_KEY_MAX + 32];
	int r;

	if (!numbers)
		return error_no_memory(err);
	snprintf(text, sizeof(text), "%s %" PRIu64, key, permutation->length);
	r = shake128_of(text, (uint8_t *)numbers, count * sizeof(*numbers), err);
	if (r < 0)
		return r;
	permutation->numbers = take_ptr(&numbers);
	return 0;
}

int permutation_make(struct permutation *permutation, uint64_t length, const char *key, struct error *err)
{
	struct permutation made = { .length = length };
	int r;

	made.wide = permutation_root(length ? length - 1 : 0) + 1;
	made.high = (length + made.wide - 1) / made.wide;
	r = permutation_draw(&made, key, err);
	if (r == 0)
		*permutation = made;
	return r;
}

uint64_t permutation_element(const struct permutation *permutation, uint64_t place)
{
	uint64_t wide = permutation->wide, high = permutation->high;

	do {
		const dsfs_le32 *numbers = permutation->numbers;
		uint64_t row = place / wide, column = place % wide;

		for (unsigned i = 0; i < PERMUTATION_ROUNDS; i++, numbers += 2 * wide) {
			row = (row + dsfs_le32_get(numbers[column])) % high;
			column = (column + dsfs_le32_get(numbers[wide + row])) % wide;
		}
		place = row * wide + column;
	} while (place >= permutation->length);
	return place;
}

uint64_t permutation_place(const struct permutation *permutation, uint64_t element)
{
	uint64_t wide = permutation->wide, high = permutation->high;

	do {
		const dsfs_le32 *numbers = permutation->numbers + 2 * PERMUTATION_ROUNDS * wide;
		uint64_t row = element / wide, column = element % wide;

		for (unsigned i = 0; i < PERMUTATION_ROUNDS; i++) {
			numbers -= 2 * wide;
			column = (column + wide - dsfs_le32_get(numbers[wide + row]) % wide) % wide;
			row = (row + high - dsfs_le32_get(numbers[column]) % high) % high;
		}
		element = row * wide + column;
	} while (element >= permutation->length);
	return element;
}

void permutation_free(struct permutation *permutation)
{
	free(permutation->numbers);
	permutation->numbers = NULL;
}
