/* SPDX-License-Identifier: MIT */
/* Opens a version of the mounted volume, for a switch or for a visitor. */
#pragma once
#include "serve/opening/visitor.h"
#include "serve/serve.h"

/* The version to open, and the user for whom it is opened. */
struct open_target {
	const char *label;   /* NULL or empty: uuid counts */
	bool is_selection;   /* label may be the beginning of a digest, and digest counts without it: for a new mount */
	const uint8_t *digest; /* NULL: any */
	const uint8_t *uuid; /* may be a removed version that is still open; NULL: the volume's current version */
	const struct visitor *visitor; /* NULL: the version is opened for a switch */
};

/* Reads the catalogue anew and, unless the version is open, loads and verifies its index and puts it into the table.
 * Tries again if the index is damaged and there is a newer superblock, as a publisher may have reused its space. The
 * version stays open while it is current, prepared, or known to the kernel. Control thread only, or before it runs. */
must_check int open_version(struct serve *serve, const struct open_target *target, struct generation **ret,
			    struct error *err);
/* Opens a version for a visitor of .datasetfs/versions and pins it. 1: the catalogue cannot be read, err
 * says why, and *ret is the open version with that label. Visits thread only. */
must_check int open_visit(struct serve *serve, const char *label, const struct visitor *visitor,
			  struct generation **ret, struct error *err);
