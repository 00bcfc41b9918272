/* SPDX-License-Identifier: MIT */
/* Checks a table against the inodes with a bit for each of these. */
#include "image/places.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "image/chunk.h"
#include "image/inode.h"

#define PLACES_WORD 64u

/* Sets the bit of each regular file. *ret_count: how many there are. */
static int places_find_files(const struct index *index, uint64_t *files, uint64_t *ret_count, struct error *err)
{
	struct inode inode;
	uint64_t count = 0;
	int r;

	for (uint64_t ordinal = INODE_ROOT; ordinal <= index->shape.inode_count; ordinal++) {
		r = inode_get(index, ordinal, &inode, err);
		if (r < 0)
			return r;
		if (!S_ISREG(inode.mode))
			continue;
		files[ordinal / PLACES_WORD] |= UINT64_C(1) << ordinal % PLACES_WORD;
		count++;
	}
	*ret_count = count;
	return 0;
}

int places_check(const struct index *index, struct error *err)
{
	auto_free uint64_t *files = NULL;
	uint64_t count = 0, elements = index->shape.places_count;
	int r;

	if (!places_has_table(index))
		return 0;
	files = calloc(index->shape.inode_count / PLACES_WORD + 1, sizeof(*files));
	r = files ? places_find_files(index, files, &count, err) : error_no_memory(err);
	if (r < 0)
		return r;
	if (count != elements)
		return error_set(err, -EBADMSG, "places: %" PRIu64 " elements, the version has %" PRIu64 " files",
				 elements, count);
	for (uint64_t i = 0; i < elements; i++) {
		uint64_t ordinal = places_get(index, i), bit = UINT64_C(1) << ordinal % PLACES_WORD;

		if (ordinal > index->shape.inode_count || !(files[ordinal / PLACES_WORD] & bit))
			return error_set(err, -EBADMSG,
					 "places: element %" PRIu64 " is %" PRIu64 ", expected a file not named before",
					 i, ordinal);
		files[ordinal / PLACES_WORD] &= ~bit;
	}
	return 0;
}

/* A bijection (the finalizer of SplitMix64), so that keys are as different as numbers. */
static uint64_t places_mix(uint64_t x)
{
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

uint64_t places_key(uint64_t seed, uint64_t number)
{
	return places_mix(number + places_mix(seed + UINT64_C(0x9e3779b97f4a7c15)));
}

uint64_t places_address(uint64_t size, uint32_t kind, const void *records, uint64_t count)
{
	struct chunk chunk;

	for (uint64_t i = 0; size <= DSFS_SHARED_MAX && i < count; i++) {
		chunk = chunk_of_record(kind, index_record_in(records, kind, i));
		if (!chunk_is_hole(&chunk))
			return chunk_is_inline(&chunk) ? 0 : chunk.address;
	}
	return 0;
}

bool places_is_before(uint64_t key, uint64_t number, uint64_t count)
{
	return (uint64_t)(((unsigned __int128)key * (count + 1)) >> 64) <= number;
}
