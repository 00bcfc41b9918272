/* SPDX-License-Identifier: MIT */
/* Writes JSON piece by piece. */
#include "base/text/json.h"

#include <inttypes.h>
#include <string.h>

#include "base/utf8.h"

/* JSON writes a character above U+FFFF as two surrogates. */
static void json_escape(FILE *out, uint32_t point)
{
	if (point > 0xffff)
		fprintf(out, "\\u%04x\\u%04x", 0xd800 + ((point - 0x10000) >> 10), 0xdc00 + (point & 0x3ff));
	else
		fprintf(out, "\\u%04x", point);
}

static void json_quote(FILE *out, const void *bytes, size_t length)
{
	const uint8_t *text = bytes;
	uint32_t point;
	size_t n;

	fputc('"', out);
	for (size_t i = 0; i < length; i += n) {
		n = utf8_decode(text + i, length - i, &point);
		if (!n) {
			n = 1;
			fprintf(out, "\\udc%02x", text[i]);
		} else if (text[i] == '"' || text[i] == '\\') {
			fprintf(out, "\\%c", text[i]);
		} else if (!utf8_shown(text + i, n)) {
			json_escape(out, point);
		} else {
			fwrite(text + i, 1, n, out);
		}
	}
	fputc('"', out);
}

static void json_key(struct json *json, const char *key)
{
	if (json->comma)
		fputs(", ", json->out);
	json->comma = true;
	if (!key)
		return;
	json_quote(json->out, key, strlen(key));
	fputs(": ", json->out);
}

static void json_begin(struct json *json, const char *key, char bracket)
{
	json_key(json, key);
	fputc(bracket, json->out);
	json->comma = false;
}

static void json_end(struct json *json, char bracket)
{
	fputc(bracket, json->out);
	json->comma = true;
}

void json_begin_object(struct json *json, const char *key)
{
	json_begin(json, key, '{');
}

void json_end_object(struct json *json)
{
	json_end(json, '}');
}

void json_begin_array(struct json *json, const char *key)
{
	json_begin(json, key, '[');
}

void json_end_array(struct json *json)
{
	json_end(json, ']');
}

void json_string(struct json *json, const char *key, const char *text)
{
	json_bytes(json, key, text, strlen(text));
}

void json_bytes(struct json *json, const char *key, const void *text, size_t length)
{
	json_key(json, key);
	json_quote(json->out, text, length);
}

void json_number(struct json *json, const char *key, uint64_t n)
{
	json_key(json, key);
	fprintf(json->out, "%" PRIu64, n);
}

void json_signed(struct json *json, const char *key, int64_t n)
{
	json_key(json, key);
	fprintf(json->out, "%" PRId64, n);
}

void json_real(struct json *json, const char *key, double n)
{
	json_key(json, key);
	fprintf(json->out, "%.6f", n);
}

void json_bool(struct json *json, const char *key, bool b)
{
	json_key(json, key);
	fputs(b ? "true" : "false", json->out);
}

void json_null(struct json *json, const char *key)
{
	json_key(json, key);
	fputs("null", json->out);
}
