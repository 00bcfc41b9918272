/* SPDX-License-Identifier: MIT */
/* The word that was meant: what a table holds that differs from a mistyped word by a slip or two. */
#pragma once
#include <stddef.h>

#define NEAREST_MAX 32 /* bytes; longer words resemble nothing */

struct nearest {
	const char *typed; /* not terminated */
	size_t length;
	const char *found; /* of the words that nearest_try() saw; NULL: none is near enough */
	unsigned slips;    /* by which it differs */
};

struct nearest nearest_begin(const char *typed, size_t length);
/* The first of several words that are equally near stays. */
void nearest_try(struct nearest *nearest, const char *word);

/* The end of a message about an unknown word: "did you mean '--flag'?", where dashes is "--", or how to get help. */
#define NEAREST_HINT_SIZE 128
void nearest_hint(const struct nearest *nearest, const char *dashes, const char *program, char ret[NEAREST_HINT_SIZE]);
