/* SPDX-License-Identifier: MIT */
/* Looks units up in a table. */
#include "plan/rate.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RATE_DIGITS "0123456789"
#define RATE_LONGEST 24 /* characters of a number */

static const struct rate_unit {
	const char *name;
	double bytes;
} rate_units[] = {
	{ "Mbit", 1e6 / 8 }, { "Gbit", 1e9 / 8 }, { "Tbit", 1e12 / 8 },
	{ "MB", 1e6 }, { "GB", 1e9 }, { "TB", 1e12 },
	{ "MiB", 1024.0 * 1024 }, { "GiB", 1024.0 * 1024 * 1024 }, { "TiB", 1024.0 * 1024 * 1024 * 1024 },
};
#define RATE_UNITS (sizeof(rate_units) / sizeof(rate_units[0]))

/* Reads digits with at most one point between them. Returns how many characters these are; 0: there is no number. */
static size_t rate_scan(const char *text, double *ret)
{
	size_t whole = strspn(text, RATE_DIGITS), length = whole;
	char copy[RATE_LONGEST + 1];

	if (whole && text[whole] == '.') {
		size_t decimals = strspn(text + whole + 1, RATE_DIGITS);

		length = decimals ? whole + 1 + decimals : 0;
	}
	if (!length || length > RATE_LONGEST)
		return 0;
	memcpy(copy, text, length);
	copy[length] = 0;
	*ret = strtod(copy, NULL);
	return length;
}

int rate_parse_number(const char *text, double min, double max, double *ret, struct error *err)
{
	double number = 0;
	size_t length = rate_scan(text, &number);

	if (!length || text[length] || number < min || number > max)
		return error_set(err, -EINVAL, "'%s': expected a number from %.12g to %.12g", text, min, max);
	*ret = number;
	return 0;
}

int rate_parse(const char *text, double *ret, struct error *err)
{
	double number = 0;
	size_t length = rate_scan(text, &number);

	for (size_t i = 0; length && i < RATE_UNITS; i++) {
		double rate = number * rate_units[i].bytes;

		if (strcmp(text + length, rate_units[i].name))
			continue;
		if (rate < 1e6 || rate > 1e15)
			return error_set(err, -EINVAL, "'%s': expected 1MB to 1000TB a second", text);
		*ret = rate;
		return 0;
	}
	return error_set(err, -EINVAL, "'%s': expected what passes in a second with its unit, as 25Gbit, 3GB or 3GiB",
			 text);
}

int rate_parse_device(const char *text, double *ret_iops, double *ret_bandwidth, struct error *err)
{
	const char *comma = strchr(text, ',');
	char iops[RATE_LONGEST + 1];
	double bandwidth;
	int r;

	if (!comma || comma - text > RATE_LONGEST)
		return error_set(err, -EINVAL, "'%s': expected reads and bytes a second, as 500000,5GB", text);
	memcpy(iops, text, (size_t)(comma - text));
	iops[comma - text] = 0;
	r = rate_parse(comma + 1, &bandwidth, err);
	if (r == 0)
		r = rate_parse_number(iops, 1, 1e9, ret_iops, err);
	if (r == 0)
		*ret_bandwidth = bandwidth;
	return r;
}

const char *rate_format(double rate, char text[RATE_TEXT_SIZE])
{
	static const char *const units[] = { "B", "KB", "MB", "GB", "TB", "PB" };
	unsigned unit = 0;

	if (isinf(rate)) {
		snprintf(text, RATE_TEXT_SIZE, "no limit of bytes");
		return text;
	}
	for (; rate >= 1000 && unit < 5; unit++)
		rate /= 1000;
	snprintf(text, RATE_TEXT_SIZE, "%.*f %s/s", rate < 100 && unit ? 1 : 0, rate, units[unit]);
	return text;
}

const char *rate_format_number(double number, char text[RATE_TEXT_SIZE])
{
	snprintf(text, RATE_TEXT_SIZE, "%.*f", number < 100 ? 1 : 0, number);
	return text;
}
