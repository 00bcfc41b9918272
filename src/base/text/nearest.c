/* SPDX-License-Identifier: MIT */
/* Counts the slips between two words: letters left out, added, replaced, or swapped with the next. */
#include "base/text/nearest.h"

#include <stdio.h>
#include <string.h>

static unsigned nearest_least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* Computes the Damerau-Levenshtein distance row by row, a row for each typed letter, keeping the last three. */
static unsigned nearest_slips(const char *typed, size_t length, const char *word, size_t count)
{
	unsigned rows[3][NEAREST_MAX + 1], *above = rows[0], *row = rows[1], *next = rows[2], *spare;

	for (unsigned j = 0; j <= count; j++)
		row[j] = j;
	for (unsigned i = 1; i <= length; i++) {
		next[0] = i;
		for (unsigned j = 1; j <= count; j++) {
			next[j] = nearest_least(nearest_least(row[j], next[j - 1]) + 1,
						row[j - 1] + (typed[i - 1] != word[j - 1]));
			if (i > 1 && j > 1 && typed[i - 1] == word[j - 2] && typed[i - 2] == word[j - 1])
				next[j] = nearest_least(next[j], above[j - 2] + 1);
		}
		spare = above;
		above = row;
		row = next;
		next = spare;
	}
	return row[count];
}

struct nearest nearest_begin(const char *typed, size_t length)
{
	/* A word is near if it has at most one slip in three letters, and one in a shorter word. */
	unsigned near = length < 6 ? 1 : (unsigned)length / 3;

	return (struct nearest){ .typed = typed, .length = length, .slips = near + 1 };
}

void nearest_try(struct nearest *nearest, const char *word)
{
	size_t count = strlen(word);
	unsigned slips;

	if (nearest->length < 2 || nearest->length > NEAREST_MAX || count > NEAREST_MAX)
		return;
	slips = nearest_slips(nearest->typed, nearest->length, word, count);
	if (slips >= nearest->slips)
		return;
	memcpy(nearest->found, word, count + 1);
	nearest->slips = slips;
}

void nearest_hint(const struct nearest *nearest, const char *dashes, const char *program, char ret[NEAREST_HINT_SIZE])
{
	if (*nearest->found)
		snprintf(ret, NEAREST_HINT_SIZE, "did you mean '%s%s'?", dashes, nearest->found);
	else
		snprintf(ret, NEAREST_HINT_SIZE, "see '%s --help'", program);
}
