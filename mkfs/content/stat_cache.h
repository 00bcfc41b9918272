/* SPDX-License-Identifier: MIT */
/* Recognizes unchanged files for --trust-mtime: a file with the same inode number, size, mtime and ctime as in an older
 * version, on the same filesystem, is taken from there and not opened. The cache does not change once it is loaded. */
#pragma once
#include "content/previous_index.h"
#include "image/inode.h"
#include "source/attributes.h"
#include "source/filesystem.h"
#include "spill/table.h"

/* Why the files of a source are read in spite of the cache. */
enum stat_cache_doubt {
	STAT_CACHE_TRUSTED,
	STAT_CACHE_NO_CTIMES, /* the filesystem does not keep ctimes, or cannot be identified */
	STAT_CACHE_OTHER,     /* it is another one than that of the version */
};

struct stat_cache {
	const struct version *version;
	struct previous_index previous;
	struct mapped section; /* the version's source section, see stat_cache.c */
	struct dsfs_source origin;
	struct table ordinals; /* inode number in the source → ordinal */
	uint32_t chunk_log;    /* of the new version */
};

/* Loads the stat cache of the version. -ENOENT: the version has none, or its sums are not of this kind;
 * -EBADMSG: it is damaged. */
must_check int stat_cache_open(struct stat_cache *cache, const struct temp *temp, struct backing backing,
			       const struct version *version, uint32_t chunk_log, uint32_t sums, struct error *err);
void stat_cache_close(struct stat_cache *cache); /* a zeroed one may be closed, too */
/* Judges the filesystem of the source; cache may be NULL. */
enum stat_cache_doubt stat_cache_doubts(const struct stat_cache *cache, const struct filesystem *filesystem);
/* Finds the same file in the version; false if there is none. guess: an ordinal to try first, or 0; files mostly come
 * in their old order. */
bool stat_cache_find(const struct stat_cache *cache, const struct attributes *attributes, uint64_t guess,
		     struct inode *ret);
/* Returns true if the file with this ordinal had no xattrs. A file that stat_cache_find() found then has none now
 * either. */
bool stat_cache_has_no_xattrs(const struct stat_cache *cache, uint64_t ordinal);
/* Returns the dedup key of a file of at most BATCH_BYTES. */
struct checksum_key stat_cache_key_of_file(const struct stat_cache *cache, const struct inode *inode);
/* Returns the content of the file if it lies in the index, else NULL. */
const void *stat_cache_inline_bytes(const struct stat_cache *cache, const struct inode *inode);
