/* SPDX-License-Identifier: MIT */
/* Somebody who can write a volume but has no key: makes the sums right again above what was changed. */
#pragma once
#include "base/source.h"
#include "image/catalogue/catalogue.h"

/* Makes the sum of the index right in the version's record, by what lies on the volume. The index must lie in one
 * piece, as one publish writes it. */
must_check int reseal_index(struct source *source, struct version *version, struct error *err);
/* Makes the sum in the version's record right by the head of the block checksums, which must lie in one piece. */
must_check int reseal_head(struct source *source, struct version *version, uint64_t length, struct error *err);
/* Writes the catalogue in the place of the old one, or behind everything if it has grown, and the superblock. */
must_check int reseal_catalogue(struct source *source, struct superblock *super, const struct catalogue *catalogue,
				struct error *err);
/* Makes the sum in the superblock right by the bytes of the catalogue on the volume, and writes the superblock. Other
 * members that are in step get the same catalogue. */
must_check int reseal_superblock(struct source *source, struct superblock *super, struct error *err);
