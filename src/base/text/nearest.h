/* SPDX-License-Identifier: MIT */
/* Finds the word that a mistyped word was probably meant to be: one that differs by a slip or two. */
#pragma once
#include <stddef.h>

#define NEAREST_MAX 32 /* bytes; longer words are never matched */

struct nearest {
	const char *typed; /* not NUL-terminated */
	size_t length;
	char found[NEAREST_MAX + 1]; /* the best word so far; "": none is near enough */
	unsigned slips;              /* the number of slips between typed and found */
};

struct nearest nearest_begin(const char *typed, size_t length);
/* Keeps the word if it is nearer than the best so far; among equals the first one stays. */
void nearest_try(struct nearest *nearest, const char *word);

/* Formats the end of a message about an unknown word: "did you mean '--flag'?", where dashes is "--", or how to get
 * help if no word is near enough. */
#define NEAREST_HINT_SIZE 128
void nearest_hint(const struct nearest *nearest, const char *dashes, const char *program, char ret[NEAREST_HINT_SIZE]);
