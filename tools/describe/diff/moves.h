/* SPDX-License-Identifier: MIT */
/* Finds moved files: a file that only one version has, with the same content as a file that only the other version has.
 * Takes 16 bytes of memory for each such file, and as much again while it looks for pairs. */
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

/* A moved file: its numbers on both sides. */
struct moves_pair {
	uint64_t from, to;
};

struct moves {
	struct moves_side from, to;
};

void moves_close(struct moves *moves); /* accepts a zeroed one */
/* Adds a file to a side. Its number is the count of files that were added to that side before. */
must_check int moves_add(struct moves_side *side, uint64_t key, struct error *err);
/* Pairs files with the same key. If several files on both sides have it, the first is paired with the first, and so on;
 * the rest were not moved. */
must_check int moves_match(struct moves *moves, struct error *err);
bool moves_is_moved(const struct moves_side *side, uint64_t number);
/* Writes the pairs of the first moved files, in the order of from, at most `most`. Returns how many it wrote. */
size_t moves_first(const struct moves *moves, struct moves_pair *pairs, size_t most);
