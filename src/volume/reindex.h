/* SPDX-License-Identifier: MIT */
/* Rewrites a version whose bytes have moved: its index section with the new places, and its other sections. */
#pragma once
#include "image/catalogue.h"
#include "volume/relocate.h"

struct reindex {
	struct source *source;
	struct allocator *allocator; /* free places are taken from it */
	bool is_rehearsal;          /* that is all: nothing is written */
	const struct catalogue *catalogue; /* from which the versions are */
	const struct line *line;
	const struct bits *victims; /* segments of the line in which nothing may stay */
	const struct relocate *chunks;  /* where stored bytes went */
	struct relocate *sections;      /* copies of sections that are not the index */
	uint64_t index_bytes;       /* written, or that would be */
};

/* Writes what changes or lies in a victim. *ret has lists of its own (free() their items), no segments yet, and
 * everything else of version. */
must_check int reindex_version(struct reindex *reindex, const struct version *version, struct version *ret,
			       struct error *err);
/* After a flush, and when the table says how far groups are filled: reads the index back as a mount would, its digest
 * must be what it was, and lists its segments. */
must_check int reindex_check(const struct reindex *reindex, struct version *version, struct error *err);
