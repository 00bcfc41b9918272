/* SPDX-License-Identifier: MIT */
/* Makes the table of places of a version whose bytes have moved. */
#pragma once
#include "image/catalogue/version.h"
#include "volume/compaction/relocate.h"

/* Sets *ret to the new table, as on the volume, for free(); NULL: the version has none, or it does not change. */
must_check int rerank_table(const struct index *index, const struct version *version, const struct relocate *chunks,
			    dsfs_le32 **ret, struct error *err);
