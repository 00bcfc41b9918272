/* SPDX-License-Identifier: MIT */
/* Counts files by the extension of their names. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#define KINDS_MOST     4096u /* kinds that are counted separately; files of all others are counted together */
#define KINDS_NAME_MAX 15u   /* bytes of a kind; a longer extension is none */

struct kind {
	char name[KINDS_NAME_MAX]; /* A to Z in lower case */
	uint8_t length;            /* 0: a name without a kind */
	uint64_t files, bytes;
};

struct kinds {
	struct kind list[KINDS_MOST]; /* by name, until kinds_sort() */
	size_t count;
	struct kind rest; /* counts of files of further kinds */
};

void kinds_add(struct kinds *kinds, const char *name, size_t length, uint64_t size);
/* Sorts by number of files, the most first. Nothing can be added afterwards. */
void kinds_sort(struct kinds *kinds);
