/* SPDX-License-Identifier: MIT */
/* The windows with the places that a mount's .datasetfs/damage lists. */
#pragma once
#include "scrub/rows.h"

/* Ascending, each once. Lines without a place in the rows are left out. *ret: free() it. -EINVAL: a line that is none
 * of such a list. */
must_check int places_read(const char *path, const struct rows *rows, const struct members *members,
			   uint64_t **ret, uint64_t *ret_count, struct error *err);
