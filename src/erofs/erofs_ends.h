/* SPDX-License-Identifier: MIT */
/* Finds the last blocks that an image must copy, because something else follows the end of the file in them. */
#pragma once
#include <stdint.h>

#include "base/error.h"
#include "image/index.h"
#include "io/array.h"

/* Sets bit 0 of marks[ordinal] for each file that ends inside a block of the volume whose remaining bytes are not
 * all zero. On failure *ret_ordinal is the file at fault; 0: none is. -EOPNOTSUPP: some content is compressed. */
must_check int erofs_ends_find(struct array_source *array, const struct index *index, uint64_t *marks,
			       uint64_t *ret_ordinal, struct error *err);
