/* SPDX-License-Identifier: MIT */
/* The long holes of a file, in a list after its chunk records, so that their chunks need no records. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "image/index.h"

struct hole_list {
	uint64_t first;  /* number of the first hole's record in the index's chunk array */
	uint64_t count;  /* holes; 0: all chunks of the file have records */
	uint64_t chunks; /* chunks in them */
};

struct hole {
	uint64_t record; /* of the hole in the index's chunk array */
	uint64_t first;  /* number of its first chunk in the file */
	uint64_t count;  /* chunks */
	uint64_t before; /* chunks of the holes before it in the list */
};

/* Opens the list whose head has this record number, of a file with this many chunks. False: the head is impossible;
 * *ret then has the count that it claims. */
bool hole_list_open(const struct index *index, uint64_t head, uint64_t chunks, struct hole_list *ret);
/* Checks every hole of the list, once, when the index is opened; hole_list_find() relies on it. The reason names the
 * file by ordinal. */
must_check int hole_list_check(const struct index *index, const struct hole_list *list, uint64_t chunks,
			       uint64_t ordinal, struct error *err);
/* Finds the last hole that begins at or before the chunk; false if there is none. Binary search: O(log holes). */
bool hole_list_find(const struct index *index, const struct hole_list *list, uint64_t chunk, struct hole *ret);
