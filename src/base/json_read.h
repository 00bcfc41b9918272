/* SPDX-License-Identifier: MIT */
/* Reads flat JSON objects, such as MNT/.datasetfs/version: strings, numbers, true, false and null, nothing nested.
 * Their bytes may be hostile. Programs that look at nested ones have a library for that. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define JSON_READ_MOST 32u /* values that may be wanted of an object */

/* A text that is read piece by piece. */
struct json_read {
	const char *at, *end;
	const char *begin; /* of the text, for reasons */
};

/* A value that must be there, once. One of the three is not NULL. */
struct json_wanted {
	const char *key;
	char *text; /* of room bytes with the NUL; a string of printable ASCII without escapes */
	size_t room;
	uint64_t *number; /* digits only */
	bool *flag;
};

struct json_read json_read_begin(const char *text, size_t length);
/* Passes over this byte, and blanks before it, if it comes next. */
bool json_read_take(struct json_read *read, char byte);
/* Nothing but blanks is left. */
bool json_read_at_end(struct json_read *read);
/* What is wanted of the next object; other values are passed over. -EBADMSG when it is not such an object. What is
 * wanted may have been written in part then. */
must_check int json_read_object(struct json_read *read, const struct json_wanted *wanted, size_t count,
				struct error *err);
