/* SPDX-License-Identifier: MIT */
/* Parses text into values. */
#include "base/text/parse.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/format.h"

static int parse_digits(const char *text, char **end, uint64_t *ret, struct error *err)
{
	if (!isdigit((unsigned char)*text))
		return error_set(err, -EINVAL, "'%s' is not a number", text);
	errno = 0;
	*ret = strtoull(text, end, 10);
	if (errno)
		return error_set(err, -ERANGE, "'%s' is too large", text);
	return 0;
}

static int parse_range(const char *text, uint64_t n, uint64_t min, uint64_t max, struct error *err)
{
	if (n < min || n > max)
		return error_set(err, -ERANGE, "'%s' is out of range, expected %" PRIu64 " to %" PRIu64, text, min,
				 max);
	return 0;
}

int parse_u64(const char *text, uint64_t min, uint64_t max, uint64_t *ret, struct error *err)
{
	uint64_t n = 0;
	char *end;
	int r;

	r = parse_digits(text, &end, &n, err);
	if (r < 0)
		return r;
	if (*end)
		return error_set(err, -EINVAL, "'%s' is not a number", text);
	r = parse_range(text, n, min, max, err);
	if (r < 0)
		return r;
	*ret = n;
	return 0;
}

static const char parse_suffixes[] = "KMGT";

static int parse_size_range(const char *text, uint64_t n, uint64_t min, uint64_t max, struct error *err)
{
	char least[SIZE_TEXT_SIZE], most[SIZE_TEXT_SIZE];

	if (n >= min && n <= max)
		return 0;
	return error_set(err, -ERANGE, "'%s' is out of range, expected %s to %s", text,
			 format_exact_size(min, least), format_exact_size(max, most));
}

int parse_size(const char *text, uint64_t min, uint64_t max, uint64_t *ret, struct error *err)
{
	const char *suffix;
	uint64_t n = 0;
	char *end;
	int r;

	r = parse_digits(text, &end, &n, err);
	if (r < 0)
		return r;
	if (*end) {
		suffix = strchr(parse_suffixes, toupper((unsigned char)*end));
		if (!suffix || end[1])
			return error_set(err, -EINVAL, "'%s' is not a size, expected a number with K, M, G or T",
					 text);
		for (const char *s = parse_suffixes; s <= suffix; s++)
			if (__builtin_mul_overflow(n, 1024, &n))
				return error_set(err, -ERANGE, "'%s' is too large", text);
	}
	r = parse_size_range(text, n, min, max, err);
	if (r < 0)
		return r;
	*ret = n;
	return 0;
}

int parse_size_or_off(const char *text, uint64_t min, uint64_t max, uint64_t *ret, struct error *err)
{
	char least[SIZE_TEXT_SIZE], most[SIZE_TEXT_SIZE];
	struct error why = { 0 };
	int r;

	if (!strcmp(text, "off") || !strcmp(text, "0")) {
		*ret = 0;
		return 0;
	}
	r = parse_size(text, min, max, ret, &why);
	if (r == 0)
		return 0;
	return error_set(err, r, "'%s': expected off, or %s to %s", text, format_exact_size(min, least),
			 format_exact_size(max, most));
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)tolower((unsigned char)c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int parse_hex(const char *text, uint8_t *out, size_t size, struct error *err)
{
	int high, low;

	if (strlen(text) != 2 * size)
		return error_set(err, -EINVAL, "'%s' has %zu characters, expected %zu hexadecimal digits", text,
				 strlen(text), 2 * size);
	for (size_t i = 0; i < size; i++) {
		high = hex_digit(text[2 * i]);
		low = hex_digit(text[2 * i + 1]);
		if (high < 0 || low < 0)
			return error_set(err, -EINVAL, "'%s' is not hexadecimal", text);
		out[i] = (uint8_t)(high << 4 | low);
	}
	return 0;
}

int parse_digest(const char *text, uint8_t digest[32], struct error *err)
{
	static const char kind[] = "sha256:";

	if (strncmp(text, kind, strlen(kind)) != 0)
		return error_set(err, -EINVAL, "'%s' does not begin with '%s'", text, kind);
	return parse_hex(text + strlen(kind), digest, 32, err);
}

int parse_uuid(const char *text, uint8_t uuid[16], struct error *err)
{
	static const int dashes[] = { 8, 13, 18, 23 };
	uint8_t parsed[16];
	char digits[33];
	size_t used = 0;

	if (strlen(text) != 36)
		return error_set(err, -EINVAL, "'%s' is not a UUID", text);
	for (int i = 0; i < 4; i++)
		if (text[dashes[i]] != '-')
			return error_set(err, -EINVAL, "'%s' is not a UUID", text);
	for (const char *c = text; *c; c++)
		if (*c != '-' && used < 32)
			digits[used++] = *c;
	digits[used] = 0;
	if (parse_hex(digits, parsed, sizeof(parsed), NULL) < 0)
		return error_set(err, -EINVAL, "'%s' is not a UUID", text);
	memcpy(uuid, parsed, sizeof(parsed));
	return 0;
}
