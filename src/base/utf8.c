/* SPDX-License-Identifier: MIT */
/* UTF-8 (RFC 3629), and the control characters in it. */
#include "base/utf8.h"

size_t utf8_length(const uint8_t *text, size_t left)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	uint32_t point;
	size_t n;

	if (text[0] < 0x80)
		return 1;
	n = text[0] >= 0xf0 ? 4 : text[0] >= 0xe0 ? 3 : 2;
	if (text[0] < 0xc2 || text[0] > 0xf4 || n > left)
		return 0;
	point = text[0] & (0x7fu >> n);
	for (size_t i = 1; i < n; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
		point = point << 6 | (text[i] & 0x3f);
	}
	if (point < least[n] || point > 0x10ffff || (point >= 0xd800 && point < 0xe000))
		return 0;
	return n;
}

size_t utf8_shown(const uint8_t *text, size_t left)
{
	size_t n = utf8_length(text, left);

	if (text[0] < 0x20 || text[0] == 0x7f || (n == 2 && text[0] == 0xc2 && text[1] < 0xa0))
		return 0;
	return n;
}
