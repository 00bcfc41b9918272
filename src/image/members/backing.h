/* SPDX-License-Identifier: MIT */
/* A backing is the place from which the bytes of a version are read: a source, and the table that tells where their
 * copies are. */
#pragma once
#include <stdint.h>

#include "base/error.h"
#include "base/source.h"
#include "image/members/members.h"

/* Passed by value, like a span; the source and the table belong to others. */
struct backing {
	struct source *source;
	const struct members *members; /* of the version's catalogue; NULL or none in it: nothing has copies */
	uint64_t size;                 /* where addresses end on a volume without such a table */
};

/* Returns the backing of a volume that is as large as its source. */
struct backing backing_of(struct source *source, const struct members *members);
/* Returns where addresses end on a member; 0 if there is none of this number. */
uint64_t backing_size(struct backing backing, uint32_t member);
/* Lists where the byte at this address can be read, see members_copies(). */
uint32_t backing_copies(struct backing backing, uint64_t address, uint64_t ret[DSFS_COPIES_MAX]);
/* Reads bytes of one column: from copy number `turn` and, if that fails, from the ones after it. */
must_check int backing_read(struct backing backing, uint64_t address, uint32_t turn, void *to, uint64_t length,
			    struct error *err);
