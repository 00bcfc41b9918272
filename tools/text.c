/* SPDX-License-Identifier: MIT */
/* Names, times and types, written so that they do no harm. */
#include "text.h"

#include <inttypes.h>
#include <sys/stat.h>
#include <time.h>

#include "base/json.h"
#include "base/utf8.h"

void text_write(FILE *out, const void *bytes, size_t length)
{
	const uint8_t *text = bytes;
	size_t n;

	for (size_t i = 0; i < length; i += n) {
		n = utf8_shown(text + i, length - i);
		if (n && text[i] != '\'' && text[i] != '\\') {
			fwrite(text + i, 1, n, out);
		} else {
			fprintf(out, "\\x%02x", text[i]);
			n = 1;
		}
	}
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
