/* SPDX-License-Identifier: MIT */
/* Sums bit by bit: only short inputs have such a sum. */
#include "base/crc.h"

uint32_t crc_sum(uint32_t polynomial, const uint8_t *bytes, size_t length)
{
	uint32_t sum = UINT32_MAX;

	for (size_t i = 0; i < length; i++) {
		sum ^= bytes[i];
		for (int bit = 0; bit < 8; bit++)
			sum = sum >> 1 ^ (sum & 1 ? polynomial : 0);
	}
	return sum;
}
