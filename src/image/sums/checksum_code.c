/* SPDX-License-Identifier: MIT */
/* The only user of xxHash. The build compiles this file for each kind of CPU, with CHECKSUM_CODE as the name of the
 * result. It includes all of xxHash, so that the code is compiled for that CPU. */
#include "image/sums/checksum_code.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

/* Clears the upper halves of registers, which compilers forget: gcc 12 if XXH3 ends with a call. While they are in use,
 * SSE code takes up to seven times as long, and the calling program has some. */
static void checksum_leave(void)
{
#ifdef __AVX__
	__builtin_ia32_vzeroupper();
#endif
}

static uint64_t checksum_sum_64(const void *bytes, size_t length)
{
	uint64_t sum = XXH3_64bits(bytes, length);

	checksum_leave();
	return sum;
}

static uint64_t checksum_sum_64_pieces(const struct iovec *pieces, int count)
{
	XXH3_state_t state;
	uint64_t sum;

	if (count == 1)
		return checksum_sum_64(pieces[0].iov_base, pieces[0].iov_len);
	XXH3_INITSTATE(&state);
	XXH3_64bits_reset(&state);
	for (int i = 0; i < count; i++)
		XXH3_64bits_update(&state, pieces[i].iov_base, pieces[i].iov_len);
	sum = XXH3_64bits_digest(&state);
	checksum_leave();
	return sum;
}

static struct checksum_key checksum_sum_128(const void *bytes, size_t length)
{
	XXH128_hash_t hash = XXH3_128bits(bytes, length);

	checksum_leave();
	return (struct checksum_key){ .low = hash.low64, .high = hash.high64 };
}

const struct checksum_code CHECKSUM_CODE = { checksum_sum_64, checksum_sum_64_pieces, checksum_sum_128 };
