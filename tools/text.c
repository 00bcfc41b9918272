/* SPDX-License-Identifier: MIT */
/* Prints names through base/text/shown.c, so that they cannot control the terminal. */
#include "text.h"

#include <inttypes.h>
#include <langinfo.h>
#include <locale.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <wchar.h>

#include "base/text/json.h"
#include "base/text/shown.h"
#include "base/utf8.h"

void text_write(FILE *out, const void *bytes, size_t length)
{
	shown_write(out, bytes, length, TEXT_REFUSED);
}

void text_print(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	shown_print_list(stdout, fmt, ap);
	va_end(ap);
}

/* Names are UTF-8 whatever the locale; containers and cron have C. wcwidth(3) needs a locale that knows UTF-8. */
bool text_enter_locale(void)
{
	bool is_utf8 = setlocale(LC_CTYPE, "") && !strcmp(nl_langinfo(CODESET), "UTF-8");

	if (!is_utf8)
		setlocale(LC_CTYPE, "C.UTF-8");
	return is_utf8;
}

size_t text_columns(const char *text, size_t length)
{
	const uint8_t *bytes = (const uint8_t *)text;
	size_t columns = 0, n;
	uint32_t point;
	int width;

	for (size_t i = 0; i < length; i += n ? n : 1) {
		n = utf8_decode(bytes + i, length - i, &point);
		width = n ? wcwidth((wchar_t)point) : 1;
		columns += width < 0 ? 1 : (size_t)width; /* -1: no locale here knows it */
	}
	return columns;
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
