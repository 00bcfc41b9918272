/* SPDX-License-Identifier: MIT */
/* Reads flat JSON objects, such as MNT/.datasetfs/version: strings, numbers, true, false and null, nothing nested.
 * The text may be hostile. Programs that need nested objects use a library. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define JSON_READ_MOST 32u /* the most keys that one call may ask for */

/* The state of the parser: the unread part of the text. */
struct json_read {
	const char *at, *end;
	const char *begin; /* start of the text, for byte numbers in reasons */
};

/* A key that the object must have exactly once. Exactly one of text, number and flag is set. */
struct json_wanted {
	const char *key;
	char *text; /* receives printable ASCII without escapes, in room bytes with the NUL */
	size_t room;
	uint64_t *number; /* receives an unsigned decimal number */
	bool *flag;
};

struct json_read json_read_begin(const char *text, size_t length);
/* Skips blanks, and the given byte if it comes next; returns whether it did. */
bool json_read_take(struct json_read *read, char byte);
/* True if only blanks are left. */
bool json_read_at_end(struct json_read *read);
/* Reads the next object and stores the wanted values; other keys are skipped. -EBADMSG if the text is not such an
 * object; some wanted values may already be written then. */
must_check int json_read_object(struct json_read *read, const struct json_wanted *wanted, size_t count,
				struct error *err);
