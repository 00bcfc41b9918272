/* SPDX-License-Identifier: MIT */
/* Finds the windows with the places that a mount's .datasetfs/damage lists. */
#pragma once
#include "scrub/rows.h"

/* Reads the list and returns the numbers of windows in ascending order, each once. Ignores places outside the rows. The
 * caller frees *ret. -EINVAL: a line does not belong in such a list. */
must_check int places_read(const char *path, const struct rows *rows, const struct members *members,
			   uint64_t **ret, uint64_t *ret_count, struct error *err);
