/* SPDX-License-Identifier: MIT */
/* A parser of flat JSON objects that allocates nothing. */
#include "base/text/json_read.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

struct json_value {
	enum { VALUE_STRING, VALUE_NUMBER, VALUE_WORD } kind;
	const char *text; /* for a string: the bytes between the quotes, still escaped */
	size_t length;
};

struct json_read json_read_begin(const char *text, size_t length)
{
	return (struct json_read){ .at = text, .end = text + length, .begin = text };
}

static void json_read_blanks(struct json_read *read)
{
	while (read->at < read->end && memchr(" \t\r\n", *read->at, 4))
		read->at++;
}

bool json_read_take(struct json_read *read, char byte)
{
	json_read_blanks(read);
	if (read->at == read->end || *read->at != byte)
		return false;
	read->at++;
	return true;
}

bool json_read_at_end(struct json_read *read)
{
	json_read_blanks(read);
	return read->at == read->end;
}

static int json_read_refuse(const struct json_read *read, const char *expected, struct error *err)
{
	if (read->at == read->end)
		return error_set(err, -EBADMSG, "the text ends at byte %zu, expected %s",
				 (size_t)(read->end - read->begin), expected);
	return error_set(err, -EBADMSG, "byte %zu is 0x%02x, expected %s", (size_t)(read->at - read->begin),
			 (unsigned)(unsigned char)*read->at, expected);
}

/* Reads a string whose opening quote is already consumed. */
static int json_read_string(struct json_read *read, struct json_value *ret, struct error *err)
{
	const char *begin = read->at;

	while (read->at < read->end && *read->at != '"') {
		if ((unsigned char)*read->at < 0x20)
			return json_read_refuse(read, "a string without control characters", err);
		/* An escaped byte may be a quote. */
		read->at += *read->at == '\\' && read->end - read->at > 1 ? 2 : 1;
	}
	if (read->at == read->end)
		return json_read_refuse(read, "the end of a string", err);
	*ret = (struct json_value){ VALUE_STRING, begin, (size_t)(read->at - begin) };
	read->at++;
	return 0;
}

/* Reads the longest run of bytes from set; false if it is empty. */
static bool json_read_run(struct json_read *read, const char *set, struct json_value *ret)
{
	const char *begin = read->at;

	while (read->at < read->end && *read->at && strchr(set, *read->at))
		read->at++;
	ret->text = begin;
	ret->length = (size_t)(read->at - begin);
	return ret->length > 0;
}

static bool json_read_value_is(const struct json_value *value, const char *text)
{
	return value->length == strlen(text) && !memcmp(value->text, text, value->length);
}

static int json_read_value(struct json_read *read, struct json_value *ret, struct error *err)
{
	static const char expected[] = "a string, a number, true, false or null";
	const struct json_read before = *read;

	if (json_read_take(read, '"'))
		return json_read_string(read, ret, err);
	ret->kind = VALUE_NUMBER;
	if (json_read_run(read, "+-.0123456789eE", ret))
		return 0;
	ret->kind = VALUE_WORD;
	if (json_read_run(read, "aeflnrstu", ret) && (json_read_value_is(ret, "true") ||
	    json_read_value_is(ret, "false") || json_read_value_is(ret, "null")))
		return 0;
	read->at = before.at;
	json_read_blanks(read);
	return json_read_refuse(read, expected, err);
}

static int json_read_number(const struct json_value *value, uint64_t *ret)
{
	uint64_t number = 0;

	if (value->kind != VALUE_NUMBER)
		return -EBADMSG;
	for (size_t i = 0; i < value->length; i++) {
		if (value->text[i] < '0' || value->text[i] > '9' ||
		    __builtin_mul_overflow(number, UINT64_C(10), &number) ||
		    __builtin_add_overflow(number, (uint64_t)(value->text[i] - '0'), &number))
			return -EBADMSG;
	}
	*ret = number;
	return 0;
}

static int json_read_text(const struct json_value *value, char *text, size_t room)
{
	if (value->kind != VALUE_STRING || value->length >= room)
		return -EBADMSG;
	for (size_t i = 0; i < value->length; i++)
		if (value->text[i] == '\\' || value->text[i] < 0x20 || value->text[i] > 0x7e)
			return -EBADMSG;
	memcpy(text, value->text, value->length);
	text[value->length] = 0;
	return 0;
}

static int json_read_flag(const struct json_value *value, bool *ret)
{
	if (value->kind != VALUE_WORD || json_read_value_is(value, "null"))
		return -EBADMSG;
	*ret = json_read_value_is(value, "true");
	return 0;
}

static int json_read_keep(const struct json_wanted *wanted, const struct json_value *value, struct error *err)
{
	int r;

	if (wanted->text)
		r = json_read_text(value, wanted->text, wanted->room);
	else if (wanted->number)
		r = json_read_number(value, wanted->number);
	else
		r = json_read_flag(value, wanted->flag);
	if (r == 0)
		return 0;
	return error_set(err, r, "\"%s\" is not %s", wanted->key, wanted->number ? "a number of 64 bits" :
			 wanted->flag ? "true or false" : "a string of printable ASCII that is short enough");
}

/* Reads one "key": value pair. *found has a bit for each wanted key that was seen. */
static int json_read_member(struct json_read *read, const struct json_wanted *wanted, size_t count, uint32_t *found,
			    struct error *err)
{
	struct json_value key = { 0 }, value = { 0 };
	int r;

	if (!json_read_take(read, '"'))
		return json_read_refuse(read, "a key", err);
	r = json_read_string(read, &key, err);
	if (r == 0 && !json_read_take(read, ':'))
		r = json_read_refuse(read, "':'", err);
	if (r == 0)
		r = json_read_value(read, &value, err);
	for (size_t i = 0; i < count && r == 0; i++) {
		if (!json_read_value_is(&key, wanted[i].key))
			continue;
		if (*found & 1u << i)
			return error_set(err, -EBADMSG, "\"%s\" is there twice", wanted[i].key);
		*found |= 1u << i;
		r = json_read_keep(&wanted[i], &value, err);
	}
	return r;
}

int json_read_object(struct json_read *read, const struct json_wanted *wanted, size_t count, struct error *err)
{
	uint32_t found = 0;
	int r = 0;

	assert(count <= JSON_READ_MOST);
	if (!json_read_take(read, '{'))
		return json_read_refuse(read, "'{'", err);
	if (!json_read_take(read, '}')) {
		do
			r = json_read_member(read, wanted, count, &found, err);
		while (r == 0 && json_read_take(read, ','));
		if (r == 0 && !json_read_take(read, '}'))
			r = json_read_refuse(read, "',' or '}'", err);
	}
	for (size_t i = 0; i < count && r == 0; i++)
		if (!(found & 1u << i))
			r = error_set(err, -EBADMSG, "no \"%s\"", wanted[i].key);
	return r;
}
