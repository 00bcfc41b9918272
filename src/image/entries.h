/* SPDX-License-Identifier: MIT */
/* Checks the names of an index against its inodes, before anything is looked up in them. */
#pragma once
#include "base/error.h"
#include "base/span.h"
#include "image/index.h"

/* Checks the pages of file (names_check()), and that names are legal, ordinals are breadth-first, each inode decodes
 * and has the type of its entries, and counts are as in index->shape.
 * The flat parts of index must be set; its names are not used. */
must_check int entries_check(const struct index *index, struct span file, struct error *err);
