/* SPDX-License-Identifier: MIT */
/* Opens the version that somebody asks for. */
#pragma once
#include "serve/opening/visitor.h"
#include "serve/serve.h"

/* Which version is meant. */
struct open_wish {
	const char *label;   /* NULL or empty: see uuid */
	const uint8_t *uuid; /* also one that was removed, while it is open; NULL: the volume's current version */
	const struct visitor *visitor; /* for whom it is opened; NULL: for a switch */
};

/* Reads the catalogue anew, loads the version's index and verifies it, unless it is open, and puts it into the table.
 * Again when the index is not right and there is a newer superblock: a publisher may have moved on in between. It
 * stays open while it is current, prepared, or known to the kernel. By the control thread, and before that runs. */
must_check int open_version(struct serve *serve, const struct open_wish *wish, struct generation **ret,
			    struct error *err);
/* The same for a visitor of .datasetfs/versions, by the thread of visits: a lookup of *ret is counted. 1: the
 * catalogue cannot be read, err says why, and *ret is what is open under that label. */
must_check int open_visit(struct serve *serve, const char *label, const struct visitor *visitor,
			  struct generation **ret, struct error *err);
