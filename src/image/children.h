/* SPDX-License-Identifier: MIT */
/* Which ordinals the entries of a directory have, and whose entry an ordinal is, without a search over all names:
 * entries are numbered in the order of their directories, so some look-ups find them. */
#pragma once
#include <stdint.h>

#include "base/error.h"
#include "image/index.h"
#include "image/names.h"

/* What hard links change: where the ordinals of a directory begin whose first entry is a further name of a file before
 * it. Constant, for all threads. */
struct children;

/* NULL and no memory when the version has no hard links; else one pass over all names. */
must_check int children_open(const struct index *index, struct names_reader *reader, struct children **ret,
			     struct error *err);
void children_free(struct children *children);

/* The ordinals that were given to entries of the directory: all of them but those of further names. */
must_check int children_range(const struct children *children, const struct index *index, struct names_reader *reader,
			      uint64_t directory, uint64_t *ret_first, uint64_t *ret_count, struct error *err);
/* The directory with the first name of an ordinal, which is not the root's, and where the ordinals of its entries
 * begin. */
must_check int children_find(const struct children *children, const struct index *index, struct names_reader *reader,
			     uint64_t ordinal, uint64_t *ret_directory, uint64_t *ret_first, struct error *err);
