/* SPDX-License-Identifier: MIT */
/* Goes through text one character at a time. */
#include "base/text/shown.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

/* Writes one character, or the number of its first byte if it must not be shown as it is. Returns how many bytes of
 * text that took. */
static size_t shown_one(FILE *out, const uint8_t *text, size_t left, const char *refused)
{
	char shown[UTF8_SHOWN_SIZE];
	size_t n = utf8_show(text, left, refused, shown);

	fputs(shown, out);
	return n;
}

void shown_write(FILE *out, const void *bytes, size_t length, const char *refused)
{
	const uint8_t *text = bytes;

	for (size_t i = 0; i < length;)
		i += shown_one(out, text + i, length - i, refused);
}

/* Formats the text into buffer, or into new memory if it is longer than room; without memory it is cut off. The
 * caller frees the result unless it is buffer. */
static char *shown_format(char *buffer, size_t room, const char *fmt, va_list ap) printf_like(3, 0);

static char *shown_format(char *buffer, size_t room, const char *fmt, va_list ap)
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

void shown_print_list(FILE *out, const char *fmt, va_list ap)
{
	bool ends = fmt[0] && fmt[strlen(fmt) - 1] == '\n';
	size_t begin = strspn(fmt, "\n"), length;
	char buffer[1024] = "";
	char *text = shown_format(buffer, sizeof(buffer), fmt, ap);

	ends = ends && fmt[begin];
	length = strlen(text) - ends;
	fwrite(text, 1, begin, out);
	shown_write(out, text + begin, length - begin, "");
	if (ends)
		putc('\n', out);
	if (text != buffer)
		free(text);
}

void shown_print(FILE *out, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	shown_print_list(out, fmt, ap);
	va_end(ap);
}
