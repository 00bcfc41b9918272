/* SPDX-License-Identifier: MIT */
/* Parses the argument of one option into a field of the program's struct, and reports the field. */
#include "base/program/option.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text/format.h"
#include "base/text/json.h"
#include "base/text/parse.h"

static int option_set_number(const struct option_value *value, uint8_t *field, const char *argument, struct error *err)
{
	uint64_t number;
	int r;

	if (value->may_be_off && !strcmp(argument, "off")) {
		*(int *)(void *)field = -1;
		return 0;
	}
	r = parse_u64(argument, value->min, value->max, &number, err);
	if (r < 0)
		return r;
	if (value->kind == OPTION_KIND_U64)
		*(uint64_t *)(void *)field = number;
	else if (value->kind == OPTION_KIND_UNSIGNED)
		*(unsigned *)(void *)field = (unsigned)number;
	else
		*(int *)(void *)field = (int)number;
	return 0;
}

static int option_set_size(const struct option_value *value, uint64_t *field, const char *argument, struct error *err)
{
	return value->may_be_off ? parse_size_or_off(argument, value->min, value->max, field, err) :
				   parse_size(argument, value->min, value->max, field, err);
}

static int option_set_log(const struct option_value *value, uint32_t *field, const char *argument, struct error *err)
{
	uint64_t size;
	int r = parse_size(argument, UINT64_C(1) << value->min, UINT64_C(1) << value->max, &size, err);

	if (r < 0)
		return r;
	if (size & (size - 1))
		return error_set(err, -EINVAL, "'%s' is not a power of two", argument);
	*field = (uint32_t)__builtin_ctzll(size);
	return 0;
}

static int option_refuse_word(const struct option_value *value, const char *argument, struct error *err)
{
	char list[256] = "";
	size_t used = 0;

	if (value->words[1] && !value->words[2])
		return error_set(err, -EINVAL, "'%s' is neither '%s' nor '%s'", argument, value->words[0],
				 value->words[1]);
	for (const char *const *word = value->words; *word && used < sizeof(list); word++)
		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s'%s'", used ? ", " : "", *word);
	return error_set(err, -EINVAL, "'%s' is not one of %s", argument, list);
}

static int option_set_word(const struct option_value *value, uint8_t *field, const char *argument, struct error *err)
{
	unsigned number = 0;

	while (value->words[number] && strcmp(argument, value->words[number]) != 0)
		number++;
	if (!value->words[number])
		return option_refuse_word(value, argument, err);
	if (value->kind == OPTION_KIND_EITHER)
		*(bool *)field = number;
	else
		*(unsigned *)(void *)field = number;
	return 0;
}

static int option_set_text(const struct option_value *value, const char **field, const char *argument,
			   struct error *err)
{
	int r = value->check ? value->check(argument, err) : 0;

	if (r == 0)
		*field = argument;
	return r;
}

int option_set(const struct option_value *value, void *target, const char *argument, struct error *err)
{
	uint8_t *field = (uint8_t *)target + value->offset;

	if (value->call)
		return value->call(target, argument, err);
	switch (value->kind) {
	case OPTION_KIND_NOTHING:
		return 0;
	case OPTION_KIND_TRUE:
	case OPTION_KIND_FALSE:
		*(bool *)field = value->kind == OPTION_KIND_TRUE;
		return 0;
	case OPTION_KIND_TEXT:
		return option_set_text(value, (const char **)(void *)field, argument, err);
	case OPTION_KIND_INT:
	case OPTION_KIND_UNSIGNED:
	case OPTION_KIND_U64:
		return option_set_number(value, field, argument, err);
	case OPTION_KIND_SIZE:
		return option_set_size(value, (uint64_t *)(void *)field, argument, err);
	case OPTION_KIND_LOG:
		return option_set_log(value, (uint32_t *)(void *)field, argument, err);
	case OPTION_KIND_WORD:
	case OPTION_KIND_EITHER:
		return option_set_word(value, field, argument, err);
	case OPTION_KIND_REFUSED:
		return error_set(err, -EINVAL, "%s", value->refusal);
	case OPTION_KIND_CALL:
		break;
	}
	return -EINVAL;
}

void option_report(const struct option_value *value, const void *target, const char *key, struct json *json)
{
	const void *field = (const uint8_t *)target + value->offset;
	const char *text = value->kind == OPTION_KIND_TEXT ? *(const char *const *)field : NULL;

	if (value->report)
		value->report(target, key, json);
	else if (value->kind == OPTION_KIND_TRUE || value->kind == OPTION_KIND_FALSE)
		json_bool(json, key, *(const bool *)field == (value->kind == OPTION_KIND_TRUE));
	else if (value->kind == OPTION_KIND_TEXT)
		json_string(json, key, text ? text : "");
	else if (value->kind == OPTION_KIND_WORD)
		json_string(json, key, value->words[*(const unsigned *)field]);
	else if (value->kind == OPTION_KIND_EITHER)
		json_string(json, key, value->words[*(const bool *)field]);
	else if (value->kind == OPTION_KIND_UNSIGNED)
		json_number(json, key, *(const unsigned *)field);
	else
		json_number(json, key, *(const uint64_t *)field);
}

void option_range(const struct option_value *value, char text[OPTION_RANGE_SIZE])
{
	char least[SIZE_TEXT_SIZE], most[SIZE_TEXT_SIZE];

	*text = 0;
	if (value->kind == OPTION_KIND_SIZE)
		snprintf(text, OPTION_RANGE_SIZE, "%s to %s", format_exact_size(value->min, least),
			 format_exact_size(value->max, most));
	else if (value->max)
		snprintf(text, OPTION_RANGE_SIZE, "%" PRIu64 " to %" PRIu64, value->min, value->max);
}
