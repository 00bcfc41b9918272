/* SPDX-License-Identifier: MIT */
/* How an option stores its argument in the program's struct. The macros accept only a field of the right type, so the
 * compiler checks a table of options. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum option_kind {
	OPTION_KIND_NOTHING, /* accepted, no effect */
	OPTION_KIND_TRUE,
	OPTION_KIND_FALSE,
	OPTION_KIND_TEXT,
	OPTION_KIND_INT,
	OPTION_KIND_UNSIGNED,
	OPTION_KIND_U64,
	OPTION_KIND_LOG,    /* a size that is a power of two, kept as its exponent */
	OPTION_KIND_WORD,   /* one of some words, kept as its place among them */
	OPTION_KIND_EITHER, /* the same, of two, kept as a bool */
	OPTION_KIND_CALL,
};

/* What an argument becomes. Made by the macros below. */
struct option_value {
	enum option_kind kind;
	bool may_be_off;          /* of a number: "off" is -1 */
	bool names_itself;        /* of a call: its reason says which option it is about */
	size_t offset;            /* of the field in the program's struct */
	uint64_t min, max;        /* of numbers; of OPTION_KIND_LOG, exponents */
	const char *const *words; /* end with NULL */
	int (*check)(const char *text, struct error *err); /* of text; NULL: any */
	/* argument: NULL when there is none. Returns 0 or a negative errno with the reason, to which the option's name
	 * is added unless names_itself. */
	int (*call)(void *target, const char *argument, struct error *err);
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
/* The text itself is kept, not a copy. CHECK: NULL, or what says whether it is allowed. */
#define OPTION_TEXT(STRUCT, FIELD, CHECK) { OPTION_IS(OPTION_KIND_TEXT, const char *, STRUCT, FIELD), .check = (CHECK) }
/* MIN to MAX, both allowed, into an int, an unsigned or a uint64_t. */
#define OPTION_NUMBER(STRUCT, FIELD, MIN, MAX) { OPTION_INTEGER(STRUCT, FIELD), .min = (MIN), .max = (MAX) }
/* The same into an int, or "off" for -1. */
#define OPTION_NUMBER_OR_OFF(STRUCT, FIELD, MIN, MAX) \
	{ OPTION_IS(OPTION_KIND_INT, int, STRUCT, FIELD), .may_be_off = true, .min = (MIN), .max = (MAX) }
/* "128K" becomes 17; MIN and MAX are such exponents. */
#define OPTION_LOG(STRUCT, FIELD, MIN, MAX) \
	{ OPTION_IS(OPTION_KIND_LOG, uint32_t, STRUCT, FIELD), .min = (MIN), .max = (MAX) }
/* WORDS in the order of an enum (an unsigned in GNU C), or those for false and true. */
#define OPTION_WORD(STRUCT, FIELD, ...)                                                                              \
	{ .kind = _Generic(OPTION_FIELD(STRUCT, FIELD), bool: OPTION_KIND_EITHER, unsigned: OPTION_KIND_WORD),       \
	  .offset = offsetof(STRUCT, FIELD),                                                                         \
	  .words = (const char *const[]){ __VA_ARGS__, NULL } }
#define OPTION_CALL(FUNCTION) { .kind = OPTION_KIND_CALL, .call = (FUNCTION) }
/* The argument is a list of options with names of their own. */
#define OPTION_LIST(FUNCTION) { .kind = OPTION_KIND_CALL, .names_itself = true, .call = (FUNCTION) }

/* Sets the field of target, or says in err what was found and what was expected. */
must_check int option_set(const struct option_value *value, void *target, const char *argument, struct error *err);
