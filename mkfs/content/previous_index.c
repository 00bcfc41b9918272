/* SPDX-License-Identifier: MIT */
/* Reads an index section from its extents. */
#include "content/previous_index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/huge.h"
#include "base/program/interrupt.h"
#include "image/members/address.h"
#include "image/records.h"
#include "image/sums/sha256.h"

#define PREVIOUS_INDEX_STEP (1u << 20)

struct previous_index_copy {
	struct backing backing;
	struct sha256 *sha; /* NULL: not verified */
	uint64_t from;      /* where in the section the copy begins */
	uint64_t at;        /* bytes of the section so far */
	uint8_t *buffer;
	struct mapped *section;
};

static int previous_index_step(struct previous_index_copy *copy, uint64_t address, size_t length, struct error *err)
{
	uint64_t skip = copy->at < copy->from ? copy->from - copy->at : 0;
	int r;

	copy->at += length;
	if (skip >= length && !copy->sha)
		return 0;
	r = backing_read(copy->backing, address, 0, copy->buffer, length, err);
	if (r < 0)
		return r;
	if (copy->sha)
		sha256_add(copy->sha, copy->buffer, length);
	if (skip < length)
		r = mapped_append(copy->section, copy->buffer + skip, length - skip, NULL, err);
	return r < 0 ? r : interrupt_check(err);
}

static int previous_index_copy(struct previous_index_copy *copy, const struct version *version, struct error *err)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < version->index.extents.count; i++) {
		const struct extent *extent = &version->index.extents.items[i];
		uint64_t step;

		for (uint64_t at = 0; r == 0 && at < extent->length; at += step) {
			step = extent->length - at < PREVIOUS_INDEX_STEP ? extent->length - at : PREVIOUS_INDEX_STEP;
			r = previous_index_step(copy, extent->address + at, step, err);
		}
	}
	return r;
}

static int previous_index_check(struct sha256 *sha, const struct version *version, struct error *err)
{
	uint8_t found[SHA256_SIZE];
	int r;

	if (!sha)
		return 0;
	r = sha256_end(sha, found, err);
	if (r == 0 && memcmp(found, version->index.sha256, sizeof(found)) != 0)
		r = error_set(err, -EBADMSG, "the index of version '%s' is damaged", version->label);
	return r;
}

static struct span previous_index_span(const struct mapped *section, uint64_t from, uint64_t offset, uint64_t size)
{
	return (struct span){ section->bytes + (offset - from), size };
}

static void previous_index_set_spans(struct previous_index *previous, const struct version *version,
				     const struct index_layout *layout)
{
	const struct index_shape *shape = &version->shape;
	struct index *index = &previous->index;
	uint64_t from = layout->inodes;

	index->shape = *shape;
	index->chunk_log = version->chunk_log;
	index->has_lists = version->feature_incompat & DSFS_VERSION_INCOMPAT_HOLES;
	index->inodes = previous_index_span(&previous->section, from, layout->inodes,
					    shape->inode_count * sizeof(struct dsfs_inode));
	index->chunks = previous_index_span(&previous->section, from, layout->chunks,
					    shape->chunk_count * index_record_size(shape->chunk_sum));
	index->classes = previous_index_span(&previous->section, from, layout->classes,
					     shape->class_count * sizeof(struct dsfs_class));
	index->blob = previous_index_span(&previous->section, from, layout->blob, shape->blob_length);
}

int previous_index_open(const struct temp *temp, struct backing backing, const struct version *version, bool verified,
			struct previous_index *ret, struct error *err)
{
	auto_free uint8_t *buffer = huge_alloc(PREVIOUS_INDEX_STEP);
	struct sha256 *sha = verified ? sha256_new() : NULL;
	struct previous_index previous = { 0 };
	struct previous_index_copy copy = {
		.backing = backing, .sha = sha, .buffer = buffer, .section = &previous.section
	};
	struct index_layout layout;
	int r;

	if (!buffer || (verified && !sha))
		r = error_no_memory(err);
	else
		r = index_layout(&version->shape, &layout, err);
	if (r == 0)
		r = mapped_open(&previous.section, temp, err);
	if (r == 0) {
		copy.from = layout.inodes;
		r = previous_index_copy(&copy, version, err);
	}
	if (r == 0)
		r = previous_index_check(sha, version, err);
	sha256_free(sha);
	if (r == 0) {
		previous_index_set_spans(&previous, version, &layout);
		r = index_set_members(&previous.index, backing.size, backing.members, err);
	}
	if (r == 0)
		r = records_check(&previous.index, err);
	if (r < 0) {
		previous_index_close(&previous);
		return r;
	}
	*ret = previous;
	return 0;
}

void previous_index_close(struct previous_index *previous)
{
	mapped_close(&previous->section);
	members_free(&previous->index.members);
	*previous = (struct previous_index){ 0 };
}
