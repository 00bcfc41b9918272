/* SPDX-License-Identifier: MIT */
/* Cyclic redundancy checks of 32 bits, for the formats of others that have them. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#define CRC_32  0xedb88320u /* IEEE 802.3; the caller inverts the sum */
#define CRC_32C 0x82f63b78u /* Castagnoli */

/* Sums the bytes by a bit-reversed polynomial, beginning with all bits set; nothing is inverted at the end. */
uint32_t crc_sum(uint32_t polynomial, const uint8_t *bytes, size_t length);
