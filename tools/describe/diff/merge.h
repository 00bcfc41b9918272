/* SPDX-License-Identifier: MIT */
/* Walks the names of two versions side by side, in the order of their paths. Needs memory for two paths. */
#pragma once
#include "base/error.h"
#include "image/index.h"
#include "walk.h"

/* Calls each() for every path of either version, or for those in the directory below unless that is NULL. b is NULL if
 * only the first version has the path, a is NULL if only the second has it. A non-zero result ends the merge and is
 * returned. */
must_check int merge_run(const struct index *a, const struct index *b, const char *below,
			 int (*each)(void *argument, const struct walk_entry *a, const struct walk_entry *b,
				     struct error *err),
			 void *argument, struct error *err);
