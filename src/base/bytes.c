/* SPDX-License-Identifier: MIT */
/* Tests on a range of bytes in memory. */
#include "base/bytes.h"

#include <stdint.h>
#include <string.h>

/* The first 16 bytes nearly always decide. The rest is compared with itself, shifted by 16, at memcmp's speed. */
bool bytes_are_zero(const void *bytes, size_t length)
{
	static const uint8_t zeros[16];
	const uint8_t *b = bytes;
	size_t head = length < sizeof(zeros) ? length : sizeof(zeros);

	if (memcmp(b, zeros, head) != 0)
		return false;
	return length <= sizeof(zeros) || memcmp(b, b + sizeof(zeros), length - sizeof(zeros)) == 0;
}
