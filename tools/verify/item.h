/* SPDX-License-Identifier: MIT */
/* Describes stored chunks to check, and orders them by their place on the volume. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "image/chunk.h"

/* A run of stored bytes. */
struct item {
	struct chunk chunk;
	uint64_t ordinal;  /* the first inode that uses it */
	uint64_t position; /* which chunk of that file */
	uint64_t shared;   /* (file, chunk) pairs that refer to it */
	uint64_t row;      /* 1 + byte offset of its block checksums in the pages; 0: it has none */
	bool again;        /* the same bytes as the item before it, with other block checksums */
};

/* Compares by address, then by the other fields of the record. */
int item_compare_bytes(const struct item *a, const struct item *b);
/* Compares two items like item_compare_bytes(), then by row; for qsort(3). Equal ones need only one check. */
int item_compare(const void *a, const void *b);
/* Merges an equal item into kept, which then has the first file that uses the bytes. */
void item_merge(void *kept, const void *other);
