/* SPDX-License-Identifier: MIT */
/* The stat cache of the version that is being packed, for --trust-mtime of later ones. stat_cache.h reads it. */
#pragma once
#include "source/attributes.h"
#include "spill/mapped.h"

struct stat_cache_writer {
	bool enabled;         /* false in a zeroed one, which keeps nothing */
	int64_t settled;      /* what changed before this time cannot change again and keep its ctime */
	uint64_t device;      /* of the first file: files elsewhere are left out; 0: not known yet */
	struct mapped inodes; /* le64 of each ordinal: inode number in the source, 0 for what is left out */
	struct mapped ctimes; /* le64 of each ordinal: ctime, the same; without it a file is never trusted */
};

must_check int stat_cache_writer_open(struct stat_cache_writer *writer, const struct temp *temp, int64_t settled,
				      struct error *err);
void stat_cache_writer_close(struct stat_cache_writer *writer); /* a zeroed one as well */
must_check int stat_cache_writer_add(struct stat_cache_writer *writer, uint64_t ordinal,
				     const struct attributes *attributes, struct error *err);
/* After the last file: *ret are the bytes of the section, a multiple of a block; none when there is nothing to keep.
 * They last until the writer is closed. */
must_check int stat_cache_writer_end(struct stat_cache_writer *writer, uint64_t inode_count, const struct mapped **ret,
				     struct error *err);
