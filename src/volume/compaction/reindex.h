/* SPDX-License-Identifier: MIT */
/* Rewrites a version whose bytes have moved: its index section with the new addresses, and its other sections. */
#pragma once
#include "image/catalogue/catalogue.h"
#include "volume/compaction/relocate.h"

struct reindex {
	struct source *source;
	struct allocator *allocator; /* free space is taken from here */
	bool is_rehearsal;          /* only takes space: writes nothing */
	const struct catalogue *catalogue; /* the catalogue that has the versions */
	const struct line *line;
	const struct bits *victims; /* segments of the line in which nothing may stay */
	const struct relocate *chunks;  /* tells where stored bytes went */
	struct relocate *sections;      /* copies of sections that are not the index */
	uint64_t index_bytes;       /* bytes written; in a rehearsal: to be written */
};

/* Writes the parts of the version that change or lie in a victim. *ret is a copy of version with lists of its own
 * (free() their items), and without segments yet. */
must_check int reindex_version(struct reindex *reindex, const struct version *version, struct version *ret,
			       struct error *err);
/* Reads the index back as a mount would, checks that its digest is unchanged, and lists its segments. Must be called
 * after a flush and allocator_settle(). */
must_check int reindex_check(const struct reindex *reindex, struct version *version, struct error *err);
