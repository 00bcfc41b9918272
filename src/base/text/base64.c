/* SPDX-License-Identifier: MIT */
/* Decodes and encodes base64. */
#include "base/text/base64.h"

#include <string.h>

static const char base64_alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

bool base64_decode(struct span text, uint8_t *to, size_t room, size_t *ret_length)
{
	static const uint32_t spare[4] = { 0, 0, 15, 3 };
	size_t length = 0, padding = 0, digits = 0;
	uint32_t bits = 0;

	for (uint64_t i = 0; i < text.size; i++) {
		const char *digit = text.base[i] ? strchr(base64_alphabet, text.base[i]) : NULL;

		if (text.base[i] == '\n')
			continue;
		if (text.base[i] == '=' && ++padding <= 2)
			continue;
		if (!digit || padding)
			return false;
		bits = bits << 6 | (uint32_t)(digit - base64_alphabet);
		if (++digits % 4 == 1)
			continue;
		if (length == room)
			return false;
		to[length++] = (uint8_t)(bits >> (8 - digits % 4 * 2) % 8);
	}
	*ret_length = length;
	/* Bits behind the last byte are zero, so that bytes have one text. */
	return digits % 4 != 1 && padding == (4 - digits % 4) % 4 && !(bits & spare[digits % 4]);
}

void base64_encode(const uint8_t *bytes, size_t length, char *text)
{
	uint32_t bits = 0;
	unsigned held = 0;

	for (size_t i = 0; i < length; i++) {
		bits = bits << 8 | bytes[i];
		for (held += 8; held >= 6; held -= 6)
			*text++ = base64_alphabet[bits >> (held - 6) & 63];
	}
	if (held)
		*text++ = base64_alphabet[bits << (6 - held) & 63];
	*text = 0;
}
