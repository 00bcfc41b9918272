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

/* Writes one character of a string. Returns how many bytes of text that took. */
static size_t json_put(FILE *out, const uint8_t *text, size_t left)
{
	uint32_t point;
	size_t n = utf8_decode(text, left, &point);

	if (!n)
		fprintf(out, "\\udc%02x", *text);
	else if (!utf8_shown(text, n))
		json_escape(out, point);
	else
		fwrite(text, 1, n, out);
	return n ? n : 1;
}

static void json_quote(FILE *out, const void *bytes, size_t length)
{
	const uint8_t *text = bytes;

	fputc('"', out);
	for (size_t i = 0; i < length;) {
		if (text[i] == '"' || text[i] == '\\')
			fputc('\\', out);
		i += json_put(out, text + i, length - i);
	}
	fputc('"', out);
}

void json_copy(FILE *out, const char *text)
{
	const size_t length = strlen(text);

	for (size_t i = 0; i < length;)
		i += json_put(out, (const uint8_t *)text + i, length - i);
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
