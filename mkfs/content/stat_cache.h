/* SPDX-License-Identifier: MIT */
/* --trust-mtime: a file with the same inode number, size, mtime and ctime as in an older version is taken from there
 * and not opened. Loaded once and not changed afterwards. */
#pragma once
#include "content/previous_index.h"
#include "image/inode.h"
#include "source/attributes.h"
#include "spill/table.h"

struct stat_cache {
	const struct version *version;
	struct previous_index previous;
	struct mapped section; /* the version's source section, see stat_cache.c */
	struct table ordinals; /* inode number in the source → ordinal */
	uint32_t chunk_log;    /* of the new version */
};

/* -ENOENT when the version has no stat cache; -EBADMSG when it is damaged. */
must_check int stat_cache_open(struct stat_cache *cache, const struct temp *temp, struct source *source,
			       uint64_t member_size, const struct members *members, const struct version *version,
			       uint32_t chunk_log, struct error *err);
void stat_cache_close(struct stat_cache *cache); /* a zeroed one as well */
/* The same file in the version; false if there is none. guess: an ordinal to try first, or 0; files mostly come in
 * their old order. */
bool stat_cache_find(const struct stat_cache *cache, const struct attributes *attributes, uint64_t guess,
		     struct inode *ret);
/* Had this file, found by stat_cache_find(), no xattrs? Then it has none now. */
bool stat_cache_has_no_xattrs(const struct stat_cache *cache, uint64_t ordinal);
/* The dedup key of a file of at most BATCH_BYTES. */
struct checksum_key stat_cache_key_of_file(const struct stat_cache *cache, const struct inode *inode);
/* Its content if that lies in the index, else NULL. */
const void *stat_cache_inline_bytes(const struct stat_cache *cache, const struct inode *inode);
