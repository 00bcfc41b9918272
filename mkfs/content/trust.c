/* SPDX-License-Identifier: MIT */
/* The memory of a source: for each ordinal the inode number that the file had, then for each its time of
 * change; 0 for what is not remembered. */
#include "content/trust.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "content/dedup.h"
#include "content/key.h"
#include "image/address.h"
#include "image/chunk.h"
#include "image/sha256.h"

#define TRUST_STEP  (1u << 16)
#define TRUST_AHEAD 16u /* numbers between the question for a slot's memory and its use */

static const le64 *trust_numbers(const struct trust *trust)
{
	return (const le64 *)(const void *)trust->memory.bytes;
}

static uint64_t trust_count(const struct trust *trust)
{
	uint64_t count = trust->memory.length / sizeof(le64), inodes = trust->version->shape.inode_count;

	return count < inodes ? count : inodes;
}

static struct table_key trust_key(const struct trust *trust, uint64_t i)
{
	return (struct table_key){ le64_get(trust_numbers(trust)[i]), 1 };
}

static int trust_add(struct trust *trust, struct error *err)
{
	uint64_t count = trust_count(trust), other;
	int r = table_reserve(&trust->inodes, trust->version->file_count, err);

	for (uint64_t i = 0; r == 0 && i < count; i++) {
		struct table_key key = trust_key(trust, i);

		if (i + TRUST_AHEAD < count)
			table_prefetch(&trust->inodes, trust_key(trust, i + TRUST_AHEAD));
		if (key.low && !table_find(&trust->inodes, key, &other))
			r = table_add(&trust->inodes, key, 1 + i, err);
	}
	return r;
}

static int trust_load(struct trust *trust, struct source *source, struct sha256 *sha, struct error *err)
{
	const struct extent *section = &trust->version->source;
	uint64_t at = address_offset(section->address);
	_Alignas(DSFS_BLOCK) uint8_t buffer[TRUST_STEP];
	uint64_t step;
	int r = 0;

	for (uint64_t done = 0; r == 0 && done < section->length; done += step) {
		step = section->length - done < TRUST_STEP ? section->length - done : TRUST_STEP;
		r = source_read(source, address_member(section->address), at + done, buffer, step, err);
		if (r < 0)
			return r;
		sha256_add(sha, buffer, step);
		r = mapped_append(&trust->memory, buffer, step, NULL, err);
	}
	return r;
}

static int trust_memory(struct trust *trust, struct source *source, struct error *err)
{
	const struct version *version = trust->version;
	struct sha256 *sha = sha256_new();
	uint8_t found[SHA256_SIZE];
	int r;

	if (!sha)
		return error_set(err, -ENOMEM, "out of memory");
	r = trust_load(trust, source, sha, err);
	if (r == 0)
		r = sha256_end(sha, found, err);
	sha256_free(sha);
	if (r == 0 && memcmp(found, version->source_sha256, sizeof(found)) != 0)
		r = error_set(err, -EBADMSG, "the memory of the source of version '%s' is damaged", version->label);
	return r < 0 ? r : trust_add(trust, err);
}

int trust_open(struct trust *trust, const struct temp *temp, struct source *source, uint64_t member_size,
	       const struct version *version, uint32_t chunk_log, struct error *err)
{
	int r;

	*trust = (struct trust){ .version = version, .chunk_log = chunk_log };
	if (!version->source.length)
		return error_set(err, -ENOENT, "version '%s' has no memory of its source", version->label);
	r = table_open(&trust->inodes, temp, err);
	if (r == 0)
		r = mapped_open(&trust->memory, temp, err);
	if (r == 0)
		r = trust_memory(trust, source, err);
	if (r == 0)
		r = previous_index_open(temp, source, member_size, version, true, &trust->previous, err);
	return r;
}

void trust_close(struct trust *trust)
{
	previous_index_close(&trust->previous);
	table_close(&trust->inodes);
	mapped_close(&trust->memory);
	*trust = (struct trust){ 0 };
}

static bool trust_ordinal(const struct trust *trust, uint64_t number, uint64_t guess, uint64_t *ret)
{
	struct table_key key = { number, 1 };

	if (!guess || guess > trust_count(trust) || trust_key(trust, guess - 1).low != number)
		return table_find(&trust->inodes, key, ret);
	*ret = guess;
	return true;
}

/* Nobody can set the time of change, so nothing of the inode has changed when it has not. */
static bool trust_is_as_it_was(const struct trust *trust, uint64_t ordinal, const struct attributes *attributes)
{
	uint64_t at = trust->version->shape.inode_count + ordinal - 1; /* of its time of change */
	uint64_t change = (at + 1) * sizeof(le64) > trust->memory.length ? 0 : le64_get(trust_numbers(trust)[at]);

	return change && change == attributes_ctime_ns(attributes);
}

bool trust_find(const struct trust *trust, const struct attributes *attributes, uint64_t guess, struct inode *ret)
{
	uint64_t ordinal;
	struct inode inode;

	if (!trust_ordinal(trust, attributes->inode, guess, &ordinal) ||
	    !trust_is_as_it_was(trust, ordinal, attributes) ||
	    inode_get(&trust->previous.index, ordinal, &inode, NULL) < 0 || !S_ISREG(inode.mode) ||
	    inode.size != attributes->size || inode.mtime != attributes->mtime ||
	    inode.mtime_nsec != attributes->mtime_nsec ||
	    !dedup_chunks_fit(trust->chunk_log, trust->previous.index.chunk_log, inode.size))
		return false;
	*ret = inode;
	return true;
}

bool trust_has_no_xattrs(const struct trust *trust, uint64_t ordinal)
{
	struct inode inode;

	return inode_get(&trust->previous.index, ordinal, &inode, NULL) == 0 && !inode.xattrs;
}

struct checksum_key trust_key_of_file(const struct trust *trust, const struct inode *inode)
{
	const struct index *index = &trust->previous.index;
	const struct dsfs_chunk *records = (const struct dsfs_chunk *)index->chunks.base + inode->where;
	uint64_t count = inode_chunk_count(index, inode), sums[KEY_CHUNKS];
	struct table_key key;

	for (uint64_t i = 0; i < count; i++)
		sums[i] = le64_get(records[i].sum);
	key = key_of_file(inode->size, sums, (uint32_t)count);
	return (struct checksum_key){ key.low, key.high };
}

const void *trust_inline_bytes(const struct trust *trust, const struct inode *inode)
{
	const struct index *index = &trust->previous.index;
	struct chunk chunk;

	if (inode_chunk_count(index, inode) != 1 || chunk_get(index, inode, 0, &chunk, NULL) < 0 ||
	    !chunk_is_inline(&chunk))
		return NULL;
	return chunk_inline_bytes(index, &chunk);
}
