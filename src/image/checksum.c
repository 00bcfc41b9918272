/* SPDX-License-Identifier: MIT */
/* The only user of xxHash. */
#include "image/checksum.h"

#include <stdlib.h>

/* The build knows whether the library has code for AVX2 and AVX-512 and chooses at run time; without, what every CPU of
 * the architecture can do is compiled in. The sums are the same. */
#ifdef XXHASH_CHOOSES
#define XXH_STATIC_LINKING_ONLY
#include <xxh_x86dispatch.h>
#else
#define XXH_INLINE_ALL
#include <xxhash.h>
#endif

uint64_t checksum_64(const void *bytes, size_t length)
{
	return XXH3_64bits(bytes, length);
}

uint64_t checksum_64_pieces(const struct iovec *pieces, int count)
{
	XXH3_state_t state;

	if (count == 1)
		return XXH3_64bits(pieces[0].iov_base, pieces[0].iov_len);
	XXH3_INITSTATE(&state);
	XXH3_64bits_reset(&state);
	for (int i = 0; i < count; i++)
		XXH3_64bits_update(&state, pieces[i].iov_base, pieces[i].iov_len);
	return XXH3_64bits_digest(&state);
}

static struct checksum_key checksum_key_of(XXH128_hash_t hash)
{
	return (struct checksum_key){ .low = hash.low64, .high = hash.high64 };
}

struct checksum_key checksum_128(const void *bytes, size_t length)
{
	return checksum_key_of(XXH3_128bits(bytes, length));
}
