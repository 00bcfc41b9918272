/* SPDX-License-Identifier: MIT */
/* A stored chunk to check; chunks are ordered by their place on the volume. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "image/chunk.h"

/* One run of stored bytes; shared counts the (file, chunk) pairs that refer to it. */
struct item {
	struct chunk chunk;
	uint64_t ordinal;  /* the first inode that uses it */
	uint64_t position; /* which chunk of that file */
	uint64_t shared;
	uint64_t row;      /* of its block checksums: 1 + its number of bytes into the pages; 0: it has none */
	bool again;        /* the same bytes as the item before it, with other block checksums */
};

/* By address, then whatever distinguishes two records of one address. */
int item_compare_bytes(const struct item *a, const struct item *b);
/* The same, then by their block checksums. Equal: the same is checked. */
int item_compare(const struct item *a, const struct item *b);
/* For qsort(): the same, then by file and position. */
int item_compare_uses(const void *a, const void *b);
