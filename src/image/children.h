/* SPDX-License-Identifier: MIT */
/* Finds the ordinals of a directory's entries, and the directory of an ordinal, without a search over all names:
 * entries are numbered in the order of their directories, so a few look-ups find them. */
#pragma once
#include <stdint.h>

#include "base/error.h"
#include "image/index.h"
#include "image/names/names.h"

/* The effect of hard links: the first ordinal of each directory whose first entry is a further name of an earlier file.
 * Constant, for all threads. */
struct children;

/* Makes one pass over all names; or *ret is NULL and takes no memory if the version has no hard links. */
must_check int children_open(const struct index *index, struct names_reader *reader, struct children **ret,
			     struct error *err);
void children_free(struct children *children);

/* The ordinals that were given to entries of a directory: all except those of further names. */
struct children_range {
	uint64_t first, count;
};

/* The first ordinal of a directory's entries, or the one that would be. */
struct children_start {
	uint64_t directory;
	uint64_t first;
};

must_check int children_range(const struct children *children, const struct index *index, struct names_reader *reader,
			      uint64_t directory, struct children_range *ret, struct error *err);
/* Finds the directory with the first name of an ordinal, which must not be the root's. */
must_check int children_find(const struct children *children, const struct index *index, struct names_reader *reader,
			     uint64_t ordinal, struct children_start *ret, struct error *err);
