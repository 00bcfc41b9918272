/* SPDX-License-Identifier: MIT */
/* Calls the code that checksum_choose.c has chosen for this CPU. */
#include "image/sums/checksum.h"

#include "image/sums/checksum_choose.h"

uint64_t checksum_64(const void *bytes, size_t length)
{
	return checksum_choose()->sum_64(bytes, length);
}

uint64_t checksum_64_pieces(const struct iovec *pieces, int count)
{
	return checksum_choose()->sum_64_pieces(pieces, count);
}

struct checksum_key checksum_128(const void *bytes, size_t length)
{
	return checksum_choose()->sum_128(bytes, length);
}
