/* SPDX-License-Identifier: MIT */
/* Which files that only one version has, and which that only the other has, have the same content: they were moved.
 * 16 bytes in memory for each of these files, and as much again while it looks for pairs. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct moves_file {
	uint64_t key;
	uint64_t number; /* counts the files of its side, from 0 */
};

struct moves_side {
	struct moves_file *files; /* by number; after moves_match() by key and number */
	size_t count, room;
	uint8_t *moved; /* a bit for each number, after moves_match() */
};

/* Numbers of files. */
struct moves_pair {
	uint64_t from, to;
};

struct moves {
	struct moves_side from, to;
};

void moves_close(struct moves *moves); /* a zeroed one as well */
/* Its number is how many were added to the side before. */
must_check int moves_add(struct moves_side *side, uint64_t key, struct error *err);
/* Of several files with the same content on both sides, the first is paired with the first, and so on; what is left of
 * one side was not moved. */
must_check int moves_match(struct moves *moves, struct error *err);
bool moves_is_moved(const struct moves_side *side, uint64_t number);
/* The pairs of the most first moved files of from, in their order, into room for so many; returns how many. */
size_t moves_first(const struct moves *moves, struct moves_pair *pairs, size_t most);
