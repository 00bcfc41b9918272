/* SPDX-License-Identifier: MIT */
/* Escapes backslash, quote and newline, as https://prometheus.io/docs/instrumenting/exposition_formats/ says. */
#include "base/text/label.h"

#include <string.h>

#include "base/utf8.h"

void label_write(FILE *out, const char *name, const char *value)
{
	const uint8_t *at = (const uint8_t *)value, *end = at + strlen(value);
	uint32_t point;
	size_t length;

	fprintf(out, "%s=\"", name);
	for (; at < end; at += length ?: 1) {
		length = utf8_decode(at, (size_t)(end - at), &point);
		if (length == 0)
			fprintf(out, "\\\\x%02x", *at);
		else if (*at == '\\' || *at == '"')
			fprintf(out, "\\%c", *at);
		else if (*at == '\n')
			fputs("\\n", out);
		else
			fwrite(at, 1, length, out);
	}
	fputc('"', out);
}
