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

/* Returns the ordinals that were given to entries of the directory: all except those of further names. */
must_check int children_range(const struct children *children, const struct index *index, struct names_reader *reader,
			      uint64_t directory, uint64_t *ret_first, uint64_t *ret_count, struct error *err);
/* Finds the directory with the first name of an ordinal, which must not be the root's, and the first ordinal of that
 * directory's entries. */
must_check int children_find(const struct children *children, const struct index *index, struct names_reader *reader,
			     uint64_t ordinal, uint64_t *ret_directory, uint64_t *ret_first, struct error *err);
