/* SPDX-License-Identifier: MIT */
/* Reading an index section from its extents. */
#include "content/earlier.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/huge.h"
#include "base/interrupt.h"
#include "image/address.h"
#include "image/records.h"
#include "image/sha256.h"

#define EARLIER_STEP (1u << 20)

struct earlier_copy {
	struct source *source;
	struct sha256 *sha; /* NULL: not verified */
	uint64_t from;      /* where in the section the copy begins */
	uint64_t at;        /* bytes of the section so far */
	uint8_t *buffer;
	struct mapped *section;
};

static int earlier_step(struct earlier_copy *copy, uint64_t address, size_t length, struct error *err)
{
	uint64_t skip = copy->at < copy->from ? copy->from - copy->at : 0;
	int r;

	copy->at += length;
	if (skip >= length && !copy->sha)
		return 0;
	r = source_read(copy->source, address_member(address), address_offset(address), copy->buffer, length, err);
	if (r < 0)
		return r;
	if (copy->sha)
		sha256_add(copy->sha, copy->buffer, length);
	if (skip < length)
		r = mapped_append(copy->section, copy->buffer + skip, length - skip, NULL, err);
	return r < 0 ? r : interrupt_check(err);
}

static int earlier_copy(struct earlier_copy *copy, const struct version *version, struct error *err)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < version->index.count; i++) {
		const struct extent *extent = &version->index.items[i];
		uint64_t step;

		for (uint64_t at = 0; r == 0 && at < extent->length; at += step) {
			step = extent->length - at < EARLIER_STEP ? extent->length - at : EARLIER_STEP;
			r = earlier_step(copy, extent->address + at, step, err);
		}
	}
	return r;
}

static int earlier_check(struct sha256 *sha, const struct version *version, struct error *err)
{
	uint8_t found[SHA256_SIZE];
	int r;

	if (!sha)
		return 0;
	r = sha256_end(sha, found, err);
	if (r == 0 && memcmp(found, version->index_sha256, sizeof(found)) != 0)
		r = error_set(err, -EBADMSG, "the index of version '%s' is damaged", version->label);
	return r;
}

static struct span earlier_span(const struct mapped *section, uint64_t from, uint64_t offset, uint64_t size)
{
	return (struct span){ section->bytes + (offset - from), size };
}

static void earlier_index(struct earlier *earlier, const struct version *version, const struct index_layout *layout,
			  uint64_t member_size)
{
	const struct index_shape *shape = &version->shape;
	struct index *index = &earlier->index;
	uint64_t from = layout->inodes;

	index->shape = *shape;
	index->chunk_log = version->chunk_log;
	index->member_sizes[0] = member_size;
	index->member_count = 1;
	index->has_lists = version->feature_incompat & DSFS_VERSION_INCOMPAT_HOLES;
	index->inodes = earlier_span(&earlier->section, from, layout->inodes,
				     shape->inode_count * sizeof(struct dsfs_inode));
	index->chunks = earlier_span(&earlier->section, from, layout->chunks,
				     shape->chunk_count * sizeof(struct dsfs_chunk));
	index->classes = earlier_span(&earlier->section, from, layout->classes,
				      shape->class_count * sizeof(struct dsfs_class));
	index->blob = earlier_span(&earlier->section, from, layout->blob, shape->blob_length);
}

int earlier_open(const struct temp *temp, struct source *source, uint64_t member_size, const struct version *version,
		 bool verified, struct earlier *ret, struct error *err)
{
	auto_free uint8_t *buffer = huge_alloc(EARLIER_STEP);
	struct sha256 *sha = verified ? sha256_new() : NULL;
	struct earlier earlier = { 0 };
	struct earlier_copy copy = { .source = source, .sha = sha, .buffer = buffer, .section = &earlier.section };
	struct index_layout layout;
	int r;

	if (!buffer || (verified && !sha))
		r = error_set(err, -ENOMEM, "out of memory");
	else
		r = index_layout(&version->shape, &layout, err);
	if (r == 0)
		r = mapped_open(&earlier.section, temp, err);
	if (r == 0) {
		copy.from = layout.inodes;
		r = earlier_copy(&copy, version, err);
	}
	if (r == 0)
		r = earlier_check(sha, version, err);
	sha256_free(sha);
	if (r == 0) {
		earlier_index(&earlier, version, &layout, member_size);
		r = records_check(&earlier.index, err);
	}
	if (r < 0) {
		earlier_close(&earlier);
		return r;
	}
	*ret = earlier;
	return 0;
}

void earlier_close(struct earlier *earlier)
{
	mapped_close(&earlier->section);
	*earlier = (struct earlier){ 0 };
}
