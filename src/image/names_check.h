/* SPDX-License-Identifier: MIT */
/* Checks an LMDB file page by page before LMDB sees it: LMDB trusts its file, we do not trust publishers. */
#pragma once
#include "base/error.h"
#include "base/span.h"
#include "image/catalogue.h"

/* Rules: every page in bounds, of its type, numbered rightly, referenced once, at the tree's depth; keys
 * ascending; names legal; ordinals breadth-first; counts as in shape. inodes is index part 2. */
must_check int names_check(struct span file, struct span inodes, const struct index_shape *shape,
			   struct error *err);
