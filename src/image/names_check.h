/* SPDX-License-Identifier: MIT */
/* Checks an LMDB file page by page before LMDB sees it, because LMDB trusts its file and we do not trust publishers. */
#pragma once
#include "base/error.h"
#include "base/span.h"
#include "image/index.h"

/* Checks that every page is in bounds, of its type, numbered rightly, referenced once, at the tree's depth; keys
 * ascend; names are legal; ordinals are breadth-first; each inode decodes and has the type of its entries; counts are
 * as in index->shape.
 * The flat parts of index must be set; its names are not used. */
must_check int names_check(const struct index *index, struct span file, struct error *err);
