/* SPDX-License-Identifier: MIT */
/* The names of two versions side by side, in the order of their paths. In memory for two paths. */
#pragma once
#include "base/error.h"
#include "image/index.h"
#include "walk.h"

/* Calls each() for every path that one of them has or both have: b is NULL of what only the first has, a of what only
 * the second has. Non-zero from it ends the merge and is returned. */
must_check int merge_run(const struct index *a, const struct index *b, const char *below,
			 int (*each)(void *argument, const struct walk_entry *a, const struct walk_entry *b,
				     struct error *err),
			 void *argument, struct error *err);
