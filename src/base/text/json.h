/* SPDX-License-Identifier: MIT */
/* Writes JSON to a stdio stream and takes care of commas, quotes and escapes. In strings that are not UTF-8, each
 * bad byte becomes U+DC80 + (byte - 0x80), like Python's surrogateescape. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct json {
	FILE *out;
	bool comma; /* a value was already written at this level */
};

/* Writes a line of JSON that another library made, which leaves some characters as they are that a terminal obeys. */
void json_copy(FILE *out, const char *text);

/* In all of these, key may be NULL inside an array or at the top level. */
void json_begin_object(struct json *json, const char *key);
void json_end_object(struct json *json);
void json_begin_array(struct json *json, const char *key);
void json_end_array(struct json *json);
void json_string(struct json *json, const char *key, const char *text);
void json_bytes(struct json *json, const char *key, const void *text, size_t length);
void json_number(struct json *json, const char *key, uint64_t n);
void json_signed(struct json *json, const char *key, int64_t n);
void json_real(struct json *json, const char *key, double n); /* with six decimals */
void json_bool(struct json *json, const char *key, bool b);
void json_null(struct json *json, const char *key);
