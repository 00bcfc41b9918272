/* SPDX-License-Identifier: MIT */
/* Sorts byte records by an external merge sort: writes sorted runs to a temporary file and merges them when read. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "spill/temp.h"

struct sorter;

/* Opens a sorter. budget: bytes of memory for records and their order. Records are compared bytewise; a record sorts
 * before longer ones that it begins. */
must_check int sorter_open(const struct temp *temp, size_t budget, struct sorter **ret, struct error *err);
void sorter_free(struct sorter *sorter);
must_check int sorter_add(struct sorter *sorter, const void *head, size_t head_length, const void *bytes,
			  size_t length, struct error *err);
/* Starts reading in order. Call it after the last sorter_add(), and again to read everything once more. */
must_check int sorter_rewind(struct sorter *sorter, struct error *err);
/* Returns 1 and the next record (valid until the next call), 0 at the end, or a negative errno. */
must_check int sorter_next(struct sorter *sorter, const void **ret, size_t *ret_length, struct error *err);
