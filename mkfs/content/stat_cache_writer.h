/* SPDX-License-Identifier: MIT */
/* Writes the stat cache of the new version, for --trust-mtime of later publishes. */
#pragma once
#include "source/attributes.h"
#include "source/filesystem.h"
#include "spill/mapped.h"

struct stat_cache_writer {
	bool enabled;         /* false in a zeroed one: nothing is recorded */
	bool all_xattrs;      /* files had no other user.* attributes than those in the version */
	int64_t settled;      /* seconds; a file with an earlier ctime cannot change again without a new one */
	uint64_t device;      /* filesystem of the first file: files elsewhere are left out; 0: none yet */
	struct mapped inodes; /* dsfs_le64 per ordinal: inode number in the source; 0: left out */
	struct mapped ctimes; /* dsfs_le64 per ordinal: ctime in nanoseconds; 0: the file is always read */
};

must_check int stat_cache_writer_open(struct stat_cache_writer *writer, const struct temp *temp, bool all_xattrs,
				      int64_t settled, struct error *err);
void stat_cache_writer_close(struct stat_cache_writer *writer); /* a zeroed one may be closed, too */
must_check int stat_cache_writer_add(struct stat_cache_writer *writer, uint64_t ordinal,
				     const struct attributes *attributes, struct error *err);
/* Builds the section after the last file, for a source on the filesystem: *ret has whole blocks, or no bytes if there
 * is nothing to record. It is valid until stat_cache_writer_close(). */
must_check int stat_cache_writer_end(struct stat_cache_writer *writer, uint64_t inode_count,
				     const struct filesystem *filesystem, const struct mapped **ret,
				     struct error *err);
