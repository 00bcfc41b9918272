/* SPDX-License-Identifier: MIT */
/* Hashes sizes and sums into keys. The size is part of a key, so that files that are all holes do not collide. */
#include "content/key.h"

#include <string.h>

#include "image/sums/checksum.h"

struct table_key key_of_file(uint64_t size, const uint64_t *sums, uint32_t count)
{
	uint64_t words[1 + KEY_CHUNKS];
	struct checksum_key key;

	words[0] = size;
	memcpy(words + 1, sums, count * sizeof(*sums));
	key = checksum_128(words, (1 + count) * sizeof(*words));
	return (struct table_key){ key.low, key.high };
}

struct table_key key_of_chunk(const struct sum *sum, uint32_t length)
{
	return (struct table_key){ key_of_sum(sum), length };
}

uint64_t key_of_sum(const struct sum *sum)
{
	dsfs_le64 number;

	memcpy(&number, sum->bytes, sizeof(number));
	return dsfs_le64_get(number);
}
