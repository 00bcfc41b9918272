/* SPDX-License-Identifier: MIT */
/* What lies behind the ends of files on the volume: which last blocks an image must copy. */
#pragma once
#include <stdint.h>

#include "base/error.h"
#include "image/index.h"
#include "io/array.h"

/* Sets bit 0 of marks[ordinal] for each file that ends within a block of the volume with something else than zeros
 * behind it. *ret_ordinal: on failure the file that it is about; 0: none. -EOPNOTSUPP: some of it is compressed. */
must_check int erofs_ends_find(struct array_source *array, const struct index *index, uint64_t *marks,
			       uint64_t *ret_ordinal, struct error *err);
