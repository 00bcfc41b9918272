/* SPDX-License-Identifier: MIT */
/* Finds the windows that contain the places listed in a mount's .datasetfs/damage. */
#pragma once
#include "scrub/rows.h"

/* Reads the list and returns the numbers of windows in ascending order, each once. Ignores places outside the rows. The
 * caller frees *ret. -EINVAL: a line is malformed. */
must_check int places_read(const char *path, const struct rows *rows, const struct members *members,
			   uint64_t **ret, uint64_t *ret_count, struct error *err);
