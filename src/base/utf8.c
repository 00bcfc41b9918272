/* SPDX-License-Identifier: MIT */
/* Decodes UTF-8 (RFC 3629) and knows which characters are safe to show. */
#include "base/utf8.h"

#include <stdio.h>
#include <string.h>

size_t utf8_decode(const uint8_t *text, size_t left, uint32_t *ret)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	uint32_t point;
	size_t n;

	if (text[0] < 0x80) {
		*ret = text[0];
		return 1;
	}
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
	*ret = point;
	return n;
}

/* Ascending. Beside control characters: characters that Unicode lets a renderer hide (Default_Ignorable_Code_Point,
 * among them text-direction controls, joiners, tags), line and paragraph separators, and annotations. */
static const struct utf8_range {
	uint32_t first, last;
} utf8_hidden[] = {
	{ 0x00, 0x1f },	      { 0x7f, 0x9f },	    { 0xad, 0xad },	  { 0x34f, 0x34f },	{ 0x61c, 0x61c },
	{ 0x115f, 0x1160 },   { 0x17b4, 0x17b5 },   { 0x180b, 0x180f },	  { 0x200b, 0x200f },	{ 0x2028, 0x202e },
	{ 0x2060, 0x206f },   { 0x3164, 0x3164 },   { 0xfe00, 0xfe0f },	  { 0xfeff, 0xfeff },	{ 0xffa0, 0xffa0 },
	{ 0xfff0, 0xfffb },   { 0x1bca0, 0x1bca3 }, { 0x1d173, 0x1d17a }, { 0xe0000, 0xe0fff },
};

static bool utf8_is_hidden(uint32_t point)
{
	const struct utf8_range *range = utf8_hidden;

	for (; range < utf8_hidden + sizeof(utf8_hidden) / sizeof(*utf8_hidden) && point >= range->first; range++)
		if (point <= range->last)
			return true;
	return false;
}

size_t utf8_shown(const uint8_t *text, size_t left)
{
	uint32_t point;
	size_t n = utf8_decode(text, left, &point);

	return n && !utf8_is_hidden(point) ? n : 0;
}

size_t utf8_show(const uint8_t *text, size_t left, const char *refused, char ret[UTF8_SHOWN_SIZE])
{
	size_t n = utf8_shown(text, left);

	if (!n || strchr(refused, text[0])) {
		snprintf(ret, UTF8_SHOWN_SIZE, "\\x%02x", text[0]);
		return 1;
	}
	memcpy(ret, text, n);
	ret[n] = 0;
	return n;
}
