/* SPDX-License-Identifier: MIT */
/* --trust-mtime: files that a version recorded with the same size, times of modification and change, and inode number
 * are taken from that version and not opened. Loaded once and not changed afterwards. */
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
	uint32_t chunk_log;    /* of the version being made */
};

/* -ENOENT when the version has no stat cache; -EBADMSG when it is damaged. */
must_check int stat_cache_open(struct stat_cache *cache, const struct temp *temp, struct source *source,
			       uint64_t member_size, const struct version *version, uint32_t chunk_log,
			       struct error *err);
void stat_cache_close(struct stat_cache *cache); /* a zeroed one as well */
/* The same file in the version; false when there is none. guess is an ordinal that it may have, or 0: files mostly come
 * in the order that they had. */
bool stat_cache_find(const struct stat_cache *cache, const struct attributes *attributes, uint64_t guess,
		     struct inode *ret);
/* The file of that ordinal, which was found, had no user attributes, so it has none. */
bool stat_cache_has_no_xattrs(const struct stat_cache *cache, uint64_t ordinal);
/* What the content of a file of at most BATCH_BYTES is looked for by. */
struct checksum_key stat_cache_key_of_file(const struct stat_cache *cache, const struct inode *inode);
/* Its content, when it lies in the index: NULL when not. */
const void *stat_cache_inline_bytes(const struct stat_cache *cache, const struct inode *inode);
