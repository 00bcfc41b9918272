/* SPDX-License-Identifier: MIT */
/* Turns values into text: sizes for people, hexadecimal, UUIDs, digests. */
#include "base/text/format.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* By hand, as a dump of millions of files is mostly sums. */
void format_hex(const uint8_t *bytes, size_t size, char *text)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < size; i++) {
		*text++ = digits[bytes[i] >> 4];
		*text++ = digits[bytes[i] & 15];
	}
	*text = 0;
}

void format_uuid(const uint8_t uuid[16], char text[UUID_TEXT_SIZE])
{
	static const int groups[] = { 4, 2, 2, 2, 6 };
	char *out = text;

	for (int g = 0; g < 5; g++) {
		if (g)
			*out++ = '-';
		format_hex(uuid, (size_t)groups[g], out);
		uuid += groups[g];
		out += 2 * groups[g];
	}
}

void format_digest(const uint8_t digest[32], char text[DIGEST_TEXT_SIZE])
{
	static const char kind[] = "sha256:";

	memcpy(text, kind, sizeof(kind));
	format_hex(digest, 32, text + strlen(kind));
}

const char *format_size(uint64_t bytes, char text[SIZE_TEXT_SIZE])
{
	static const char *const units[] = { "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	double n = (double)bytes / 1024;
	int unit = 0;

	if (bytes < 1024) {
		snprintf(text, SIZE_TEXT_SIZE, "%" PRIu64 " byte%s", bytes, format_plural(bytes));
		return text;
	}
	for (; n >= 1000 && unit < 5; unit++)
		n /= 1024;
	snprintf(text, SIZE_TEXT_SIZE, n < 10 ? "%.2f %s" : n < 100 ? "%.1f %s" : "%.0f %s", n, units[unit]);
	return text;
}

const char *format_exact_size(uint64_t bytes, char text[SIZE_TEXT_SIZE])
{
	static const char *const units[] = { "", "K", "M", "G", "T" };
	int unit = 0;

	while (unit < 4 && bytes && bytes % 1024 == 0) {
		bytes /= 1024;
		unit++;
	}
	snprintf(text, SIZE_TEXT_SIZE, "%" PRIu64 "%s", bytes, units[unit]);
	return text;
}

const char *format_plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}
