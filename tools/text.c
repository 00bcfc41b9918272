/* SPDX-License-Identifier: MIT */
/* Formats names, times and types so that a terminal is safe from them. */
#include "text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/utf8.h"

/* One character; or its first byte, as a number, when it is not to be shown as it is.
 * Returns how many bytes that were. */
static size_t text_one(FILE *out, const uint8_t *text, size_t left, const char *refused)
{
	size_t n = utf8_shown(text, left);

	if (!n || strchr(refused, text[0])) {
		fprintf(out, "\\x%02x", text[0]);
		return 1;
	}
	fwrite(text, 1, n, out);
	return n;
}

void text_write(FILE *out, const void *bytes, size_t length)
{
	const uint8_t *text = bytes;

	for (size_t i = 0; i < length;)
		i += text_one(out, text + i, length - i, "'\\");
}

void text_print(const char *fmt, ...)
{
	auto_free char *text = NULL;
	size_t length;
	bool ends;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		abort();
	va_end(ap);
	length = strlen(text);
	ends = length && text[length - 1] == '\n';
	for (size_t i = 0; i < length - ends;)
		i += text_one(stdout, (const uint8_t *)text + i, length - ends - i, "");
	if (ends)
		putchar('\n');
}

const char *text_time(int64_t seconds, char text[TEXT_TIME_SIZE])
{
	time_t when = (time_t)seconds;
	struct tm tm;

	if (!gmtime_r(&when, &tm) || !strftime(text, TEXT_TIME_SIZE, "%Y-%m-%d %H:%M:%S", &tm))
		snprintf(text, TEXT_TIME_SIZE, "@%" PRId64, seconds);
	return text;
}

const char *text_type(uint32_t mode)
{
	if (S_ISDIR(mode))
		return "directory";
	return S_ISLNK(mode) ? "symlink" : "regular file";
}

int text_json_xattr(void *argument, struct span name, struct span value)
{
	struct json *json = argument;

	json_begin_object(json, NULL);
	json_bytes(json, "name", name.base, name.size);
	json_bytes(json, "value", value.base, value.size);
	json_end_object(json);
	return 0;
}
