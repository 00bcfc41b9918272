/* SPDX-License-Identifier: MIT */
/* Loads the index of a version on the volume, without its names, into a temporary file. */
#pragma once
#include "image/catalogue/version.h"
#include "image/index.h"
#include "image/members/backing.h"
#include "spill/mapped.h"

struct previous_index {
	struct mapped section; /* inodes, chunks, classes and blob */
	struct index index;    /* spans of section; it has no names */
};

/* Loads the index of the version. verified: reads the whole section and compares its SHA-256. Otherwise the records are
 * only hints; inode_get() and chunk_get() check bounds as always. Always checks that large files share no records. */
must_check int previous_index_open(const struct temp *temp, struct backing backing, const struct version *version,
				   bool verified, struct previous_index *ret, struct error *err);
void previous_index_close(struct previous_index *previous); /* a zeroed one may be closed, too */
