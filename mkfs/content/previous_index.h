/* SPDX-License-Identifier: MIT */
/* The index of a version that is on the volume already, without its names, in a temporary file. */
#pragma once
#include "base/source.h"
#include "image/index.h"
#include "image/version.h"
#include "spill/mapped.h"

struct previous_index {
	struct mapped section; /* inodes, chunks, classes and blob */
	struct index index;    /* spans of it; nobody may ask it for names */
};

/* verified: the whole section is read and compared with its SHA-256. Otherwise its records are hints, though
 * inode_get() and chunk_get() check their bounds as always, and large files share no records in either case. */
must_check int previous_index_open(const struct temp *temp, struct source *source, uint64_t member_size,
				   const struct version *version, bool verified, struct previous_index *ret,
				   struct error *err);
void previous_index_close(struct previous_index *previous); /* a zeroed one as well */
