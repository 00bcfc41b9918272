/* SPDX-License-Identifier: MIT */
/* The mapped index of one version: flat arrays of records, and the names. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/span.h"
#include "datasetfs/format.h"
#include "image/members/members.h"

/* Sizes of an index's parts, in the order they lie. */
struct index_shape {
	uint64_t names_length;
	uint64_t inode_count, chunk_count, class_count, blob_length;
	uint64_t entry_count;
	uint32_t chunk_sum; /* DSFS_SUM_*, which decides how long chunk records are */
	uint64_t places_at, places_count; /* the table of places: its offset in the blob; elements, 0: there is none */
};

struct index_layout {
	uint64_t names, inodes, chunks, classes, blob; /* offsets in the section */
	uint64_t length;                               /* of the section */
};

/* Returns the bytes of a chunk record of a version with sums of this kind. Each begins with a struct dsfs_chunk. */
static inline uint32_t index_record_size(uint32_t kind)
{
	return kind == DSFS_SUM_SHA256 ? sizeof(struct dsfs_chunk_sha256) : sizeof(struct dsfs_chunk);
}

/* Returns a record of an array that is known to have it. */
static inline const struct dsfs_chunk *index_record_in(const void *records, uint32_t kind, uint64_t number)
{
	return (const void *)((const uint8_t *)records + number * index_record_size(kind));
}

/* Computes every part's place from the sizes. -EBADMSG if a size is above its limit. */
must_check int index_layout(const struct index_shape *shape, struct index_layout *ret, struct error *err);

/* A file of more than DSFS_SHARED_MAX bytes that has holes. */
struct index_sparse {
	uint64_t ordinal;
	uint64_t hole_bytes;
};

/* A section in a memfd, shared read-only by all threads. index_load() returns it sealed and checked; only the checks
 * see it before. */
struct index {
	struct index_shape shape;
	uint32_t chunk_log;
	uint64_t member_sizes[DSFS_MEMBER_MAX + 1]; /* addresses must lie inside */
	uint32_t member_count;
	struct members members; /* as in the catalogue; if there are any, chunks lie in their groups */
	bool has_lists; /* of long holes, see hole_list.h */
	struct span inodes, chunks, classes, blob;
	struct span places; /* see places.h; size 0: the version has none */
	struct names *names;
	bool is_measured;            /* records_measure() has run; else there is no list of sparse files */
	struct index_sparse *sparse; /* by ordinal, see records.h */
	uint64_t sparse_count;
	int memfd;
	void *map;
	uint64_t map_length;
};

/* Returns a chunk record; NULL: there is none with this number. */
static inline const struct dsfs_chunk *index_record(const struct index *index, uint64_t number)
{
	uint32_t size = index_record_size(index->shape.chunk_sum);

	return number < index->shape.chunk_count ? span_at(index->chunks, number * size, size) : NULL;
}

/* Maps the section in index->memfd and points the flat parts into it. The index's shape must be set. */
must_check int index_map(struct index *index, struct error *err);
/* Sets where addresses may lie: in these members, which are copied; if NULL or none, in one member of this size. */
must_check int index_set_members(struct index *index, uint64_t member_size, const struct members *members,
				 struct error *err);
void index_close(struct index *index);
