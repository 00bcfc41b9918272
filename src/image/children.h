/* SPDX-License-Identifier: MIT */
/* Finds the ordinals of a directory's entries, and the directory of an ordinal, without a search over all names:
 * entries are numbered in the order of their directories, so a few look-ups find them. */
#pragma once
#include <stdint.h>

#include "base/error.h"
#include "image/index.h"
#include "image/names/names.h"

/* The effect of hard links: the first ordinal of each directory whose first entry is a further name of an earlier file.
 * It does not change, so all threads may use it. */
struct children;

/* Makes one pass over all names. If the version has no hard links, *ret is NULL, which the functions below accept. */
must_check int children_open(const struct index *index, struct children **ret, struct error *err);
void children_free(struct children *children);

/* The ordinals of a directory's entries, except those of further names of earlier files. */
struct children_range {
	uint64_t first, count;
};

/* A directory and the first ordinal of its entries; if it has none, the ordinal that the first one would have. */
struct children_start {
	uint64_t directory;
	uint64_t first;
};

must_check int children_range(const struct children *children, const struct index *index, uint64_t directory,
			      struct children_range *ret, struct error *err);
/* Finds the directory with the first name of an ordinal, which must not be the root's. */
must_check int children_find(const struct children *children, const struct index *index, uint64_t ordinal,
			     struct children_start *ret, struct error *err);
