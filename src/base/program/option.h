/* SPDX-License-Identifier: MIT */
/* Stores an option's argument in the program's struct. The macros accept only a field of the right type, so the
 * compiler checks a table of options. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum option_kind {
	OPTION_KIND_NOTHING, /* accepted and ignored */
	OPTION_KIND_TRUE,
	OPTION_KIND_FALSE,
	OPTION_KIND_TEXT,
	OPTION_KIND_INT,
	OPTION_KIND_UNSIGNED,
	OPTION_KIND_U64,
	OPTION_KIND_SIZE,   /* bytes, in a uint64_t */
	OPTION_KIND_LOG,    /* a size that is a power of two, stored as its exponent */
	OPTION_KIND_WORD,   /* one of a list of words, stored as its index */
	OPTION_KIND_EITHER, /* one of two words, stored as a bool */
	OPTION_KIND_CALL,
	OPTION_KIND_REFUSED,
};

struct json;

/* The way to parse, store and report an argument. Built by the macros below. */
struct option_value {
	enum option_kind kind;
	bool may_be_off;          /* "off" is allowed: -1 as a number, 0 as a size */
	bool names_itself;        /* a call whose reason already names the option */
	size_t offset;            /* of the field in the program's struct */
	uint64_t min, max;        /* of a number or size; for OPTION_KIND_LOG, of the exponent */
	const char *const *words; /* NULL-terminated */
	const char *refusal;      /* the reason that an option is an error */
	int (*check)(const char *text, struct error *err); /* checks a text; NULL: any text is allowed */
	/* Parses and stores instead of the kind's own way. argument is NULL if the option has none. Returns 0 or a
	 * negative errno with the reason, which gets the option's name as a prefix unless names_itself is set. */
	int (*call)(void *target, const char *argument, struct error *err);
	/* Reports instead of the kind's own way. */
	void (*report)(const void *target, const char *key, struct json *json);
};

#define OPTION_FIELD(STRUCT, FIELD) (((STRUCT *)0)->FIELD)
#define OPTION_IS(KIND, TYPE, STRUCT, FIELD) \
	.kind = _Generic(OPTION_FIELD(STRUCT, FIELD), TYPE: KIND), .offset = offsetof(STRUCT, FIELD)
#define OPTION_INTEGER(STRUCT, FIELD)                                                                                \
	.kind = _Generic(OPTION_FIELD(STRUCT, FIELD), int: OPTION_KIND_INT, unsigned: OPTION_KIND_UNSIGNED,          \
			 uint64_t: OPTION_KIND_U64),                                                                 \
	.offset = offsetof(STRUCT, FIELD)

#define OPTION_NOTHING             { .kind = OPTION_KIND_NOTHING }
#define OPTION_TRUE(STRUCT, FIELD)  { OPTION_IS(OPTION_KIND_TRUE, bool, STRUCT, FIELD) }
#define OPTION_FALSE(STRUCT, FIELD) { OPTION_IS(OPTION_KIND_FALSE, bool, STRUCT, FIELD) }
/* Keeps the pointer, not a copy. CHECK is NULL, or a function that decides whether the text is allowed. */
#define OPTION_TEXT(STRUCT, FIELD, CHECK) { OPTION_IS(OPTION_KIND_TEXT, const char *, STRUCT, FIELD), .check = (CHECK) }
/* A number from MIN to MAX inclusive, for an int, an unsigned or a uint64_t. */
#define OPTION_NUMBER(STRUCT, FIELD, MIN, MAX) { OPTION_INTEGER(STRUCT, FIELD), .min = (MIN), .max = (MAX) }
/* A number from MIN to MAX inclusive, or "off" for -1, for an int. */
#define OPTION_NUMBER_OR_OFF(STRUCT, FIELD, MIN, MAX) \
	{ OPTION_IS(OPTION_KIND_INT, int, STRUCT, FIELD), .may_be_off = true, .min = (MIN), .max = (MAX) }
/* A size from MIN to MAX inclusive. */
#define OPTION_SIZE(STRUCT, FIELD, MIN, MAX) \
	{ OPTION_IS(OPTION_KIND_SIZE, uint64_t, STRUCT, FIELD), .min = (MIN), .max = (MAX) }
/* The same, or "off" or 0 for 0. */
#define OPTION_SIZE_OR_OFF(STRUCT, FIELD, MIN, MAX) \
	{ OPTION_IS(OPTION_KIND_SIZE, uint64_t, STRUCT, FIELD), .may_be_off = true, .min = (MIN), .max = (MAX) }
/* A size stored as its exponent: "128K" becomes 17. MIN and MAX are exponents. */
#define OPTION_LOG(STRUCT, FIELD, MIN, MAX) \
	{ OPTION_IS(OPTION_KIND_LOG, uint32_t, STRUCT, FIELD), .min = (MIN), .max = (MAX) }
/* WORDS in the order of an enum (an unsigned in GNU C), or the words for false and true. */
#define OPTION_WORD(STRUCT, FIELD, ...)                                                                              \
	{ .kind = _Generic(OPTION_FIELD(STRUCT, FIELD), bool: OPTION_KIND_EITHER, unsigned: OPTION_KIND_WORD),       \
	  .offset = offsetof(STRUCT, FIELD),                                                                         \
	  .words = (const char *const[]){ __VA_ARGS__, NULL } }
#define OPTION_CALL(FUNCTION) { .kind = OPTION_KIND_CALL, .call = (FUNCTION) }
#define OPTION_REFUSED(REASON) { .kind = OPTION_KIND_REFUSED, .refusal = (REASON) }
/* The argument is itself a list of named options. */
#define OPTION_LIST(FUNCTION) { .kind = OPTION_KIND_CALL, .names_itself = true, .call = (FUNCTION) }

/* Stores the argument in target's field, or writes to err what was found and what was expected. */
must_check int option_set(const struct option_value *value, void *target, const char *argument, struct error *err);
/* Writes target's field as a field of a JSON object. */
void option_report(const struct option_value *value, const void *target, const char *key, struct json *json);
#define OPTION_RANGE_SIZE 64
/* Formats the range of a number or size, "2M to 1G"; "" for others. */
void option_range(const struct option_value *value, char text[OPTION_RANGE_SIZE]);
