/* SPDX-License-Identifier: MIT */
/* Splits an index section into its parts, and maps it. */
#include "image/index.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/round.h"
#include "datasetfs/format.h"
#include "image/names/names.h"

int index_layout(const struct index_shape *shape, struct index_layout *ret, struct error *err)
{
	const uint64_t most = UINT64_C(1) << 50;
	struct index_layout layout = { 0 };

	if (shape->names_length % DSFS_BLOCK || shape->names_length > most || shape->inode_count > most / 32 ||
	    shape->inode_count >> DSFS_ORDINAL_BITS || shape->chunk_count > most / 32 ||
	    shape->class_count > most / 32 || shape->blob_length > most)
		return error_set(err, -EBADMSG, "index: impossible sizes: names=%" PRIu64 " inodes=%" PRIu64
				 " chunks=%" PRIu64 " classes=%" PRIu64 " blob=%" PRIu64,
				 shape->names_length, shape->inode_count, shape->chunk_count, shape->class_count,
				 shape->blob_length);
	if (shape->places_count > UINT32_MAX || shape->places_at > shape->blob_length ||
	    shape->places_count * sizeof(dsfs_le32) > shape->blob_length - shape->places_at)
		return error_set(err, -EBADMSG, "index: %" PRIu64 " places at %" PRIu64 " in a blob of %" PRIu64,
				 shape->places_count, shape->places_at, shape->blob_length);
	layout.inodes = layout.names + shape->names_length;
	layout.chunks = round_up(layout.inodes + shape->inode_count * sizeof(struct dsfs_inode), DSFS_BLOCK);
	layout.classes = round_up(layout.chunks + shape->chunk_count * index_record_size(shape->chunk_sum), DSFS_BLOCK);
	layout.blob = round_up(layout.classes + shape->class_count * sizeof(struct dsfs_class), DSFS_BLOCK);
	layout.length = round_up(layout.blob + shape->blob_length, DSFS_BLOCK);
	*ret = layout;
	return 0;
}

int index_map(struct index *index, struct error *err)
{
	struct index_layout layout = { 0 };
	struct span all;
	struct stat st;
	int r;

	r = index_layout(&index->shape, &layout, err);
	if (r < 0)
		return r;
	if (fstat(index->memfd, &st) < 0)
		return error_errno(err, "index: fstat");
	if ((uint64_t)st.st_size < layout.length)
		return error_set(err, -EBADMSG, "index: %" PRIu64 " bytes, its parts need %" PRIu64,
				 (uint64_t)st.st_size, layout.length);
	index->map = mmap(NULL, layout.length, PROT_READ, MAP_SHARED, index->memfd, 0);
	if (index->map == MAP_FAILED) {
		index->map = NULL;
		return error_errno(err, "index: map of %" PRIu64 " bytes", layout.length);
	}
	index->map_length = layout.length;
	all = (struct span){ index->map, layout.length };
	index->inodes.size = index->shape.inode_count * sizeof(struct dsfs_inode);
	index->inodes.base = span_at(all, layout.inodes, index->inodes.size);
	index->chunks.size = index->shape.chunk_count * index_record_size(index->shape.chunk_sum);
	index->chunks.base = span_at(all, layout.chunks, index->chunks.size);
	index->classes.size = index->shape.class_count * sizeof(struct dsfs_class);
	index->classes.base = span_at(all, layout.classes, index->classes.size);
	index->blob.size = index->shape.blob_length;
	index->blob.base = span_at(all, layout.blob, index->blob.size);
	index->places.size = index->shape.places_count * sizeof(dsfs_le32);
	index->places.base = span_at(index->blob, index->shape.places_at, index->places.size);
	return 0;
}

int index_set_members(struct index *index, uint64_t member_size, const struct members *members, struct error *err)
{
	members_free(&index->members);
	index->member_sizes[0] = member_size;
	index->member_count = 1;
	if (!members || !members->count)
		return 0;
	index->member_count = members->count;
	for (uint32_t i = 0; i < members->count; i++)
		index->member_sizes[i] = members_size(members, i);
	return members_copy(members, &index->members, err);
}

void index_close(struct index *index)
{
	if (!index)
		return;
	names_close(index->names);
	members_free(&index->members);
	free(index->sparse);
	if (index->map)
		munmap(index->map, index->map_length);
	if (index->memfd >= 0)
		close(index->memfd);
	free(index);
}
