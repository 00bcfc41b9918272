/* SPDX-License-Identifier: MIT */
/* JSON, written as it comes. */
#include "base/json.h"

#include <inttypes.h>
#include <string.h>

/* Length of the UTF-8 sequence at text, 0 when it is none (overlong, surrogate, out of range). */
static size_t json_utf8(const uint8_t *text, size_t left)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	uint32_t point;
	size_t n;

	if (text[0] < 0x80)
		return 1;
	n = text[0] >= 0xf0 ? 4 : text[0] >= 0xe0 ? 3 : 2;
	if (text[0] < 0xc2 || text[0] > 0xf4 || n > left)
		return 0;
	point = text[0] & (0x7fu >> n);
	for (size_t i = 1; i < n; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
		point = point << 6 | (text[i] & 0x3f);
	}
	if (point < least[n] || point > 0x10ffff || (point >= 0xd800 && point < 0xe000))
		return 0;
	return n;
}

static void json_quote(FILE *out, const void *bytes, size_t length)
{
	const uint8_t *text = bytes;
	size_t n;

	fputc('"', out);
	for (size_t i = 0; i < length; i += n) {
		n = json_utf8(text + i, length - i);
		if (!n) {
			n = 1;
			fprintf(out, "\\udc%02x", text[i]);
		} else if (text[i] == '"' || text[i] == '\\') {
			fprintf(out, "\\%c", text[i]);
		} else if (text[i] < 0x20 || text[i] == 0x7f) {
			fprintf(out, "\\u%04x", text[i]);
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
