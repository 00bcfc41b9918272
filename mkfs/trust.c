/* SPDX-License-Identifier: MIT */
/* The memory of a source: for each ordinal the inode number that the file had, 0 for what is not remembered. */
#include "trust.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "image/address.h"
#include "image/chunk.h"
#include "image/sha256.h"
#include "known.h"

#define TRUST_STEP (1u << 16)

static int trust_add(struct trust *trust, uint64_t first, const le64 *numbers, uint64_t count, struct error *err)
{
	uint64_t other;
	int r = 0;

	for (uint64_t i = 0; r == 0 && i < count; i++) {
		struct table_key key = { le64_get(numbers[i]), 1 };

		if (key.low && !table_find(&trust->inodes, key, &other))
			r = table_add(&trust->inodes, key, first + i, err);
	}
	return r;
}

static int trust_load(struct trust *trust, struct source *source, struct sha256 *sha, struct error *err)
{
	const struct version *version = trust->version;
	uint64_t last = version->shape.inode_count, at = address_offset(version->source.address);
	_Alignas(DSFS_BLOCK) uint8_t buffer[TRUST_STEP];
	uint64_t step, numbers;
	int r = 0;

	for (uint64_t done = 0; r == 0 && done < version->source.length; done += step) {
		uint64_t first = 1 + done / sizeof(le64);

		step = version->source.length - done < TRUST_STEP ? version->source.length - done : TRUST_STEP;
		r = source_read(source, address_member(version->source.address), at + done, buffer, step, err);
		if (r < 0)
			return r;
		sha256_add(sha, buffer, step);
		numbers = first > last ? 0 : last - first + 1;
		if (numbers > step / sizeof(le64))
			numbers = step / sizeof(le64);
		r = trust_add(trust, first, (const le64 *)buffer, numbers, err);
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
	return r;
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
		r = trust_memory(trust, source, err);
	if (r == 0)
		r = earlier_open(temp, source, member_size, version, true, &trust->earlier, err);
	return r;
}

void trust_close(struct trust *trust)
{
	earlier_close(&trust->earlier);
	table_close(&trust->inodes);
	*trust = (struct trust){ 0 };
}

bool trust_find(const struct trust *trust, const struct attributes *attributes, struct inode *ret)
{
	struct table_key key = { attributes->inode, 1 };
	uint64_t ordinal;
	struct inode inode;

	if (!table_find(&trust->inodes, key, &ordinal) ||
	    inode_get(&trust->earlier.index, ordinal, &inode, NULL) < 0 || !S_ISREG(inode.mode) ||
	    inode.size != attributes->size || inode.mtime != attributes->mtime ||
	    inode.mtime_nsec != attributes->mtime_nsec ||
	    !known_chunks_fit(trust->chunk_log, trust->earlier.index.chunk_log, inode.size))
		return false;
	*ret = inode;
	return true;
}

const void *trust_inline_bytes(const struct trust *trust, const struct inode *inode)
{
	const struct index *index = &trust->earlier.index;
	struct chunk chunk;

	if (inode_chunk_count(index, inode) != 1 || chunk_get(index, inode, 0, &chunk, NULL) < 0 ||
	    !chunk_is_inline(&chunk))
		return NULL;
	return chunk_inline_bytes(index, &chunk);
}
