/* SPDX-License-Identifier: MIT */
/* Reads the source section: two arrays of dsfs_le64, each with an element per ordinal, first the inode number in the
 * source, then the ctime in nanoseconds. 0 marks inodes that were left out. Then a struct dsfs_source. */
#include "content/stat_cache.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "content/dedup.h"
#include "content/key.h"
#include "image/chunk.h"
#include "image/sums/sha256.h"
#include "image/sums/sum.h"

#define STAT_CACHE_STEP  (1u << 16)
#define STAT_CACHE_AHEAD 16u /* numbers between a prefetch and its use */

static const dsfs_le64 *stat_cache_values(const struct stat_cache *cache)
{
	return (const dsfs_le64 *)(const void *)cache->section.bytes;
}

static uint64_t stat_cache_count(const struct stat_cache *cache)
{
	uint64_t count = cache->section.length / sizeof(dsfs_le64), inodes = cache->version->shape.inode_count;

	return count < inodes ? count : inodes;
}

static struct table_key stat_cache_key(const struct stat_cache *cache, uint64_t i)
{
	return (struct table_key){ dsfs_le64_get(stat_cache_values(cache)[i]), 1 };
}

static int stat_cache_fill_table(struct stat_cache *cache, struct error *err)
{
	uint64_t count = stat_cache_count(cache), other;
	int r = 0;

	for (uint64_t i = 0; r == 0 && i < count; i++) {
		struct table_key key = stat_cache_key(cache, i);

		if (i + STAT_CACHE_AHEAD < count)
			table_prefetch(&cache->ordinals, stat_cache_key(cache, i + STAT_CACHE_AHEAD));
		if (key.low && !table_find(&cache->ordinals, key, &other))
			r = table_set(&cache->ordinals, key, 1 + i, err);
	}
	return r < 0 ? r : table_settle(&cache->ordinals, err);
}

static int stat_cache_read(struct stat_cache *cache, struct backing backing, struct sha256 *sha, struct error *err)
{
	const struct version_section *section = &cache->version->source;
	_Alignas(DSFS_BLOCK) uint8_t buffer[STAT_CACHE_STEP];
	uint64_t step;
	int r = 0;

	for (uint64_t done = 0; r == 0 && done < section->length; done += step) {
		step = section->length - done < STAT_CACHE_STEP ? section->length - done : STAT_CACHE_STEP;
		r = extent_list_read(&section->extents, backing, done, buffer, step, err);
		if (r < 0)
			return r;
		sha256_add(sha, buffer, step);
		r = mapped_append(&cache->section, buffer, step, NULL, err);
	}
	return r;
}

/* Leaves zeros if the section ends before. */
static void stat_cache_read_origin(struct stat_cache *cache)
{
	uint64_t at = 2 * cache->version->shape.inode_count * sizeof(dsfs_le64);

	if (at + sizeof(cache->origin) <= cache->section.length)
		memcpy(&cache->origin, cache->section.bytes + at, sizeof(cache->origin));
}

static int stat_cache_load(struct stat_cache *cache, struct backing backing, struct error *err)
{
	const struct version *version = cache->version;
	struct sha256 *sha = sha256_new();
	uint8_t found[SHA256_SIZE];
	int r;

	if (!sha)
		return error_no_memory(err);
	r = stat_cache_read(cache, backing, sha, err);
	if (r == 0)
		r = sha256_end(sha, found, err);
	sha256_free(sha);
	if (r == 0 && memcmp(found, version->source.sha256, sizeof(found)) != 0)
		r = error_set(err, -EBADMSG, "the stat cache of version '%s' is damaged", version->label);
	if (r == 0)
		stat_cache_read_origin(cache);
	return r < 0 ? r : stat_cache_fill_table(cache, err);
}

int stat_cache_open(struct stat_cache *cache, const struct temp *temp, struct backing backing,
		    const struct version *version, uint32_t chunk_log, uint32_t sums, struct error *err)
{
	int r;

	*cache = (struct stat_cache){ .version = version, .chunk_log = chunk_log };
	if (!version->source.length)
		return error_set(err, -ENOENT, "version '%s' has no stat cache", version->label);
	if (version->shape.chunk_sum != sums)
		return error_set(err, -ENOENT, "the sums of version '%s' are not of the kind %s", version->label,
				 sum_name(sums));
	r = table_open(&cache->ordinals, temp, err);
	if (r == 0)
		r = mapped_open(&cache->section, temp, err);
	if (r == 0)
		r = stat_cache_load(cache, backing, err);
	if (r == 0)
		r = previous_index_open(temp, backing, version, true, &cache->previous, err);
	return r;
}

void stat_cache_close(struct stat_cache *cache)
{
	previous_index_close(&cache->previous);
	table_close(&cache->ordinals);
	mapped_close(&cache->section);
	*cache = (struct stat_cache){ 0 };
}

static bool stat_cache_ordinal(const struct stat_cache *cache, uint64_t number, uint64_t guess, uint64_t *ret)
{
	struct table_key key = { number, 1 };

	if (!guess || guess > stat_cache_count(cache) || stat_cache_key(cache, guess - 1).low != number)
		return table_find(&cache->ordinals, key, ret);
	*ret = guess;
	return true;
}

/* Compares the ctime, which no program can set: if it is the same, nothing about the inode has changed. */
static bool stat_cache_has_ctime(const struct stat_cache *cache, uint64_t ordinal, const struct attributes *attributes)
{
	uint64_t at = cache->version->shape.inode_count + ordinal - 1; /* of its ctime */
	bool is_there = (at + 1) * sizeof(dsfs_le64) <= cache->section.length;
	uint64_t ctime = is_there ? dsfs_le64_get(stat_cache_values(cache)[at]) : 0;

	return ctime && ctime == attributes_ctime_ns(attributes);
}

enum stat_cache_doubt stat_cache_doubts(const struct stat_cache *cache, const struct filesystem *filesystem)
{
	if (!filesystem->keeps_ctimes)
		return STAT_CACHE_NO_CTIMES;
	if (cache && memcmp(cache->origin.filesystem, filesystem->identity, sizeof(filesystem->identity)) != 0)
		return STAT_CACHE_OTHER;
	return STAT_CACHE_TRUSTED;
}

bool stat_cache_find(const struct stat_cache *cache, const struct attributes *attributes, uint64_t guess,
		     struct inode *ret)
{
	uint64_t ordinal;
	struct inode inode;

	if (!stat_cache_ordinal(cache, attributes->inode, guess, &ordinal) ||
	    !stat_cache_has_ctime(cache, ordinal, attributes) ||
	    inode_get(&cache->previous.index, ordinal, &inode, NULL) < 0 || !S_ISREG(inode.mode) ||
	    inode.size != attributes->size || inode.mtime != attributes->mtime ||
	    inode.mtime_nsec != attributes->mtime_nsec ||
	    !dedup_chunks_fit(cache->chunk_log, cache->previous.index.chunk_log, inode.size))
		return false;
	*ret = inode;
	return true;
}

bool stat_cache_has_no_xattrs(const struct stat_cache *cache, uint64_t ordinal)
{
	struct inode inode;

	return dsfs_le64_get(cache->origin.all_xattrs) &&
	       inode_get(&cache->previous.index, ordinal, &inode, NULL) == 0 && !inode.xattrs;
}

struct checksum_key stat_cache_key_of_file(const struct stat_cache *cache, const struct inode *inode)
{
	const struct index *index = &cache->previous.index;
	uint64_t count = inode_chunk_count(index, inode), sums[KEY_CHUNKS];
	struct table_key key;

	for (uint64_t i = 0; i < count; i++)
		sums[i] = dsfs_le64_get(index_record(index, inode->where + i)->sum);
	key = key_of_file(inode->size, sums, (uint32_t)count);
	return (struct checksum_key){ key.low, key.high };
}

const void *stat_cache_inline_bytes(const struct stat_cache *cache, const struct inode *inode)
{
	const struct index *index = &cache->previous.index;
	struct chunk chunk;

	if (inode_chunk_count(index, inode) != 1 || chunk_get(index, inode, 0, &chunk, NULL) < 0 ||
	    !chunk_is_inline(&chunk))
		return NULL;
	return chunk_inline_bytes(index, &chunk);
}
