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

static void text_print_list(FILE *out, const char *fmt, va_list ap) printf_like(2, 0);

/* The formatted text, cut off at room if it is longer and there is no memory for all of it. To be freed unless it is in
 * buffer. */
static char *text_format(char *buffer, size_t room, const char *fmt, va_list ap) printf_like(3, 0);

static char *text_format(char *buffer, size_t room, const char *fmt, va_list ap)
{
	va_list again;
	char *whole;
	int n;

	va_copy(again, ap);
	n = vsnprintf(buffer, room, fmt, ap);
	if (n < (int)room || vasprintf(&whole, fmt, again) < 0)
		whole = buffer;
	va_end(again);
	return whole;
}

static void text_print_list(FILE *out, const char *fmt, va_list ap)
{
	bool ends = fmt[0] && fmt[strlen(fmt) - 1] == '\n';
	size_t begin = strspn(fmt, "\n"), length;
	char buffer[1024] = "";
	char *text = text_format(buffer, sizeof(buffer), fmt, ap);

	ends = ends && fmt[begin];
	length = strlen(text) - ends;
	fwrite(text, 1, begin, out);
	for (size_t i = begin; i < length;)
		i += text_one(out, (const uint8_t *)text + i, length - i, "");
	if (ends)
		putc('\n', out);
	if (text != buffer)
		free(text);
}

void text_print(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	text_print_list(stdout, fmt, ap);
	va_end(ap);
}

void text_print_to(FILE *out, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	text_print_list(out, fmt, ap);
	va_end(ap);
}

const char *text_time(int64_t seconds, char text[TEXT_TIME_SIZE])
{
	time_t when = (time_t)seconds;
	struct tm tm;

	if (!gmtime_r(&when, &tm) || !strftime(text, TEXT_TIME_SIZE, "%Y-%m-%d %H:%M:%S", &tm))
		snprintf(text, TEXT_TIME_SIZE, "@%" PRId64, seconds);
	return text;
}

const char *text_span(double seconds, char text[TEXT_SPAN_SIZE])
{
	uint64_t s = seconds > 0 ? (uint64_t)seconds : 0, minutes = s / 60, hours = minutes / 60, days = hours / 24;

	if (days)
		snprintf(text, TEXT_SPAN_SIZE, "%" PRIu64 " d %" PRIu64 " h", days, hours % 24);
	else if (hours)
		snprintf(text, TEXT_SPAN_SIZE, "%" PRIu64 " h %" PRIu64 " min", hours, minutes % 60);
	else if (minutes)
		snprintf(text, TEXT_SPAN_SIZE, "%" PRIu64 " min %" PRIu64 " s", minutes, s % 60);
	else
		snprintf(text, TEXT_SPAN_SIZE, "%" PRIu64 " s", s);
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
