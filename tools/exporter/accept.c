/* SPDX-License-Identifier: MIT */
/* "application/openmetrics-text;version=1.0.0;q=0.8,text/plain;version=0.0.4;q=0.5" */
#include "exporter/accept.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"

/* The value of a parameter of a media range; NULL if it has no such parameter. at: ";NAME=VALUE;NAME=VALUE", blanks
 * removed. */
static const char *accept_parameter(const char *at, const char *name, size_t *ret_length)
{
	size_t length = strlen(name);

	for (; at && *at; at = strchr(at, ';')) {
		at++;
		if (!strncasecmp(at, name, length) && at[length] == '=') {
			*ret_length = strcspn(at + length + 1, ";");
			return at + length + 1;
		}
	}
	return NULL;
}

/* The quality, 0 to 1000; 1000 if none is given. "0.75" is parsed digit by digit, because a locale may have another
 * decimal point. */
static int accept_quality(const char *parameters)
{
	static const int weights[] = { 1000, 0, 100, 10, 1 };
	size_t length;
	const char *q = accept_parameter(parameters, "q", &length);
	int quality = 0;

	for (size_t i = 0; q && i < length && i < 5; i++)
		if (i != 1 && q[i] >= '0' && q[i] <= '9')
			quality += (q[i] - '0') * weights[i];
	return q ? quality : 1000;
}

/* We speak 1.0.0, which a client that names no version accepts. */
static bool accept_is_version(const char *parameters)
{
	size_t length;
	const char *version = accept_parameter(parameters, "version", &length);

	return !version || (length == 5 && !strncmp(version, "1.0.0", 5));
}

static void accept_remove_blanks(char *text)
{
	char *out = text;

	for (; *text; text++)
		if (*text != ' ' && *text != '\t')
			*out++ = *text;
	*out = 0;
}

bool accept_is_openmetrics(const char *header)
{
	auto_free char *copy = header ? strdup(header) : NULL;
	char *save = NULL, *range;
	int open = 0, plain = 0, quality;
	size_t type;

	if (!copy)
		return false;
	accept_remove_blanks(copy);
	for (range = strtok_r(copy, ",", &save); range; range = strtok_r(NULL, ",", &save)) {
		type = strcspn(range, ";");
		quality = accept_quality(range + type);
		if (type == 28 && !strncasecmp(range, "application/openmetrics-text", 28) &&
		    accept_is_version(range + type) && quality > open)
			open = quality;
		else if (type == 10 && !strncasecmp(range, "text/plain", 10) && quality > plain)
			plain = quality;
	}
	return open > 0 && open >= plain;
}
