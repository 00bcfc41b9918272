/* SPDX-License-Identifier: MIT */
/* The catalogue: encode, decode with every record checked, load, look up. */
#include "image/catalogue.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/span.h"
#include "image/address.h"
#include "image/sha256.h"

int extent_list_add(struct extent_list *list, uint64_t address, uint64_t length, struct error *err)
{
	struct extent *last = list->count ? &list->items[list->count - 1] : NULL;
	struct extent *items;

	if (last && address == last->address + last->length) {
		last->length += length;
		return 0;
	}
	if ((list->count & (list->count - 1)) == 0) { /* room for twice as many at every power of two */
		items = realloc(list->items, (list->count ? 2 * (size_t)list->count : 1) * sizeof(*items));
		if (!items)
			return error_set(err, -ENOMEM, "out of memory");
		list->items = items;
	}
	list->items[list->count++] = (struct extent){ address, length };
	return 0;
}

static void version_free(struct version *version)
{
	free(version->segments.items);
	free(version->index.items);
}

void catalogue_free(struct catalogue *catalogue)
{
	for (uint32_t i = 0; i < catalogue->version_count; i++)
		version_free(&catalogue->versions[i]);
	free(catalogue->versions);
	*catalogue = (struct catalogue){ 0 };
}

int label_check(const char *label, struct error *err)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+@:-";
	size_t length = strlen(label);

	if (length == 0 || length > DSFS_LABEL_MAX)
		return error_set(err, -EINVAL, "label of %zu bytes, expected 1 to %u", length, DSFS_LABEL_MAX);
	if (label[0] == '.' || label[0] == '-' || strspn(label, allowed) != length)
		return error_set(err, -EINVAL,
				 "label '%s': expected letters, digits and ._+@:- and no . or - at the start", label);
	return 0;
}

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
	layout.inodes = layout.names + shape->names_length;
	layout.chunks = round_up(layout.inodes + shape->inode_count * sizeof(struct dsfs_inode), DSFS_BLOCK);
	layout.classes = round_up(layout.chunks + shape->chunk_count * sizeof(struct dsfs_chunk), DSFS_BLOCK);
	layout.blob = round_up(layout.classes + shape->class_count * sizeof(struct dsfs_class), DSFS_BLOCK);
	layout.length = round_up(layout.blob + shape->blob_length, DSFS_BLOCK);
	*ret = layout;
	return 0;
}

/* --- encoding --- */

static void version_encode(const struct version *v, uint32_t first_extent, struct dsfs_version *disk)
{
	memcpy(disk->label, v->label, strlen(v->label));
	memcpy(disk->uuid, v->uuid, sizeof(disk->uuid));
	memcpy(disk->digest, v->digest, sizeof(disk->digest));
	memcpy(disk->index_sha256, v->index_sha256, sizeof(disk->index_sha256));
	disk->sequence = le64_of(v->sequence);
	disk->created = le64_of(v->created);
	disk->feature_compat = le64_of(v->feature_compat);
	disk->feature_incompat = le64_of(v->feature_incompat);
	disk->chunk_log = le32_of(v->chunk_log);
	disk->chunk_sum = le32_of(v->chunk_sum);
	disk->first_segment = le32_of(first_extent);
	disk->segment_count = le32_of(v->segments.count);
	disk->first_index = le32_of(first_extent + v->segments.count);
	disk->index_extents = le32_of(v->index.count);
	disk->index_length = le64_of(v->index_length);
	disk->names_length = le64_of(v->shape.names_length);
	disk->inode_count = le64_of(v->shape.inode_count);
	disk->chunk_count = le64_of(v->shape.chunk_count);
	disk->class_count = le64_of(v->shape.class_count);
	disk->blob_length = le64_of(v->shape.blob_length);
	disk->entry_count = le64_of(v->shape.entry_count);
	disk->file_count = le64_of(v->file_count);
	disk->directory_count = le64_of(v->directory_count);
	disk->symlink_count = le64_of(v->symlink_count);
	disk->content_bytes = le64_of(v->content_bytes);
	disk->stored_bytes = le64_of(v->stored_bytes);
	disk->source = (struct dsfs_extent){ le64_of(v->source.address), le64_of(v->source.length) };
	memcpy(disk->source_sha256, v->source_sha256, sizeof(disk->source_sha256));
	disk->fine = (struct dsfs_extent){ le64_of(v->fine.address), le64_of(v->fine.length) };
	memcpy(disk->fine_sha256, v->fine_sha256, sizeof(disk->fine_sha256));
}

static struct dsfs_extent *extents_encode(const struct extent_list *list, struct dsfs_extent *disk)
{
	for (uint32_t i = 0; i < list->count; i++, disk++)
		*disk = (struct dsfs_extent){ le64_of(list->items[i].address), le64_of(list->items[i].length) };
	return disk;
}

int catalogue_encode(const struct catalogue *catalogue, uint8_t **ret_bytes, uint64_t *ret_length,
		     struct error *err)
{
	struct dsfs_catalogue *head;
	struct dsfs_version *records;
	struct dsfs_extent *extents;
	uint64_t count = 0, length;
	uint8_t *bytes;

	for (uint32_t i = 0; i < catalogue->version_count; i++)
		count += (uint64_t)catalogue->versions[i].segments.count + catalogue->versions[i].index.count;
	length = round_up(sizeof(*head) + catalogue->version_count * sizeof(*records) + count * sizeof(*extents),
			  DSFS_BLOCK);
	if (catalogue->version_count > DSFS_VERSIONS_MAX || count > DSFS_EXTENTS_MAX || length > DSFS_CATALOGUE_MAX)
		return error_set(err, -E2BIG, "catalogue: too large: versions=%" PRIu32 " extents=%" PRIu64,
				 catalogue->version_count, count);
	bytes = aligned_alloc(DSFS_BLOCK, length);
	if (!bytes)
		return error_set(err, -ENOMEM, "catalogue: no memory for %" PRIu64 " bytes", length);
	memset(bytes, 0, length);
	head = (struct dsfs_catalogue *)bytes;
	records = (struct dsfs_version *)(head + 1);
	extents = (struct dsfs_extent *)(records + catalogue->version_count);
	memcpy(head->magic, DSFS_CATALOGUE_MAGIC, sizeof(head->magic));
	head->version_count = le32_of(catalogue->version_count);
	head->extent_count = le32_of((uint32_t)count);
	head->next_sequence = le64_of(catalogue->next_sequence);
	head->current = le64_of(catalogue->current);
	head->tail = le64_of(catalogue->tail);
	memcpy(head->volume_uuid, catalogue->volume_uuid, sizeof(head->volume_uuid));
	count = 0;
	for (uint32_t i = 0; i < catalogue->version_count; i++) {
		const struct version *v = &catalogue->versions[i];

		version_encode(v, (uint32_t)count, &records[i]);
		extents = extents_encode(&v->index, extents_encode(&v->segments, extents));
		count += (uint64_t)v->segments.count + v->index.count;
	}
	*ret_bytes = bytes;
	*ret_length = length;
	return 0;
}

/* --- decoding --- */

struct decoder {
	const struct superblock *super;
	const struct dsfs_extent *extents; /* the whole table */
	uint32_t extent_count, extents_used;
};

static int extent_check(const struct decoder *d, const struct extent *e, uint64_t align, const char *what,
			struct error *err)
{
	uint64_t offset = address_offset(e->address);

	if (address_member(e->address) >= d->super->member_count || offset % align || e->length == 0 ||
	    offset > d->super->member_size || e->length > round_up(d->super->member_size, align) - offset)
		return error_set(err, -EBADMSG,
				 "catalogue: %s at %#" PRIx64 "+%" PRIu64 " is outside the volume or not aligned to %" PRIu64,
				 what, e->address, e->length, align);
	return 0;
}

/* Lists lie one behind the other, so a table of n extents never asks for more memory than n extents. */
static int extents_decode(struct decoder *d, le32 first, le32 count, uint64_t align, const char *what,
			  struct extent_list *ret, struct error *err)
{
	uint32_t from = le32_get(first), n = le32_get(count);
	int r;

	if (from != d->extents_used || n > d->extent_count - from)
		return error_set(err, -EBADMSG,
				 "catalogue: %s extents %" PRIu32 "+%" PRIu32 " of %" PRIu32 ", expected to begin at %" PRIu32,
				 what, from, n, d->extent_count, d->extents_used);
	d->extents_used += n;
	ret->items = calloc(n ? n : 1, sizeof(*ret->items));
	if (!ret->items)
		return error_set(err, -ENOMEM, "catalogue: no memory for %" PRIu32 " extents", n);
	ret->count = n;
	for (uint32_t i = 0; i < n; i++) {
		ret->items[i].address = le64_get(d->extents[from + i].address);
		ret->items[i].length = le64_get(d->extents[from + i].length);
		r = extent_check(d, &ret->items[i], align, what, err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* In order and apart, so that no list is longer than the volume has segments. */
static int segments_check(const struct extent_list *list, struct error *err)
{
	uint64_t end = 0;

	for (uint32_t i = 0; i < list->count; i++) {
		if (list->items[i].address < end)
			return error_set(err, -EBADMSG,
					 "catalogue: segments at %#" PRIx64 " come after those up to %#" PRIx64,
					 list->items[i].address, end);
		end = list->items[i].address + list->items[i].length;
	}
	return 0;
}

static int index_extents_check(const struct extent_list *list, struct error *err)
{
	for (uint32_t i = 0; i < list->count; i++)
		if (list->items[i].length % DSFS_BLOCK)
			return error_set(err, -EBADMSG,
					 "catalogue: index extent of %" PRIu64 " bytes, expected whole blocks of %u",
					 list->items[i].length, DSFS_BLOCK);
	return 0;
}

static void version_decode_fields(const struct dsfs_version *disk, struct version *v)
{
	memcpy(v->label, disk->label, sizeof(disk->label));
	memcpy(v->uuid, disk->uuid, sizeof(v->uuid));
	memcpy(v->digest, disk->digest, sizeof(v->digest));
	memcpy(v->index_sha256, disk->index_sha256, sizeof(v->index_sha256));
	v->sequence = le64_get(disk->sequence);
	v->created = le64_get(disk->created);
	v->feature_compat = le64_get(disk->feature_compat);
	v->feature_incompat = le64_get(disk->feature_incompat);
	v->chunk_log = le32_get(disk->chunk_log);
	v->chunk_sum = le32_get(disk->chunk_sum);
	v->index_length = le64_get(disk->index_length);
	v->shape.names_length = le64_get(disk->names_length);
	v->shape.inode_count = le64_get(disk->inode_count);
	v->shape.chunk_count = le64_get(disk->chunk_count);
	v->shape.class_count = le64_get(disk->class_count);
	v->shape.blob_length = le64_get(disk->blob_length);
	v->shape.entry_count = le64_get(disk->entry_count);
	v->file_count = le64_get(disk->file_count);
	v->directory_count = le64_get(disk->directory_count);
	v->symlink_count = le64_get(disk->symlink_count);
	v->content_bytes = le64_get(disk->content_bytes);
	v->stored_bytes = le64_get(disk->stored_bytes);
	v->source = (struct extent){ le64_get(disk->source.address), le64_get(disk->source.length) };
	memcpy(v->source_sha256, disk->source_sha256, sizeof(v->source_sha256));
	v->fine = (struct extent){ le64_get(disk->fine.address), le64_get(disk->fine.length) };
	memcpy(v->fine_sha256, disk->fine_sha256, sizeof(v->fine_sha256));
}

/* The label first: every later reason names it. */
static int version_check_label(const struct version *v, struct error *err)
{
	struct error why = { 0 };

	if (v->label[DSFS_LABEL_MAX] != 0 || label_check(v->label, &why) < 0)
		return error_set(err, -EBADMSG, "catalogue: version sequence=%" PRIu64 " has a bad label", v->sequence);
	return 0;
}

static int version_check(const struct version *v, uint64_t volume_size, struct error *err)
{
	struct index_layout layout;
	uint64_t held = 0;
	int r;

	if (v->chunk_log < DSFS_CHUNK_LOG_MIN || v->chunk_log > DSFS_CHUNK_LOG_MAX)
		return error_set(err, -EBADMSG, "version '%s': chunk size 2^%" PRIu32 ", expected 2^%u to 2^%u", v->label,
				 v->chunk_log, DSFS_CHUNK_LOG_MIN, DSFS_CHUNK_LOG_MAX);
	r = index_layout(&v->shape, &layout, err);
	if (r < 0)
		return r;
	if (layout.length > volume_size)
		return error_set(err, -EBADMSG,
				 "version '%s': an index of %" PRIu64 " bytes in a volume of %" PRIu64, v->label,
				 layout.length, volume_size);
	for (uint32_t i = 0; i < v->index.count && held <= layout.length; i++)
		held += v->index.items[i].length; /* each below 2^62: no overflow */
	if (v->index_length != layout.length || held != layout.length)
		return error_set(err, -EBADMSG,
				 "version '%s': index of %" PRIu64 " bytes in extents of %" PRIu64 ", its parts need %" PRIu64,
				 v->label, v->index_length, held, layout.length);
	if (v->shape.inode_count == 0)
		return error_set(err, -EBADMSG, "version '%s': no inodes, expected at least the root", v->label);
	if (v->file_count > v->shape.inode_count)
		return error_set(err, -EBADMSG, "version '%s': %" PRIu64 " files, expected at most its %" PRIu64 " inodes",
				 v->label, v->file_count, v->shape.inode_count);
	return 0;
}

/* Optional sections: absent, or inside the volume. */
static int version_check_sections(const struct decoder *d, const struct version *v, struct error *err)
{
	int r = 0;

	if (v->source.length)
		r = extent_check(d, &v->source, DSFS_BLOCK, "source section", err);
	if (r == 0 && v->fine.length)
		r = extent_check(d, &v->fine, DSFS_BLOCK, "fine sums", err);
	return r;
}

static int version_decode(struct decoder *d, const struct dsfs_version *disk, struct version *v,
			  struct error *err)
{
	int r;

	version_decode_fields(disk, v);
	r = version_check_label(v, err);
	if (r < 0)
		return r;
	r = extents_decode(d, disk->first_segment, disk->segment_count, UINT64_C(1) << d->super->segment_log,
			   "segments", &v->segments, err);
	if (r == 0)
		r = segments_check(&v->segments, err);
	if (r == 0)
		r = extents_decode(d, disk->first_index, disk->index_extents, DSFS_BLOCK, "index", &v->index, err);
	if (r == 0)
		r = index_extents_check(&v->index, err);
	if (r < 0)
		return r;
	r = version_check_sections(d, v, err);
	if (r < 0)
		return r;
	return version_check(v, d->super->member_size, err);
}

/* Sequences ascend below next_sequence, labels differ, current exists. */
static int catalogue_check(const struct catalogue *c, struct error *err)
{
	uint64_t last = 0;

	for (uint32_t i = 0; i < c->version_count; i++) {
		const struct version *v = &c->versions[i];

		if (v->sequence <= last || v->sequence > DSFS_SEQUENCE_MAX || v->sequence >= c->next_sequence)
			return error_set(err, -EBADMSG,
					 "catalogue: version '%s' has sequence %" PRIu64 " after %" PRIu64
					 ", next is %" PRIu64,
					 v->label, v->sequence, last, c->next_sequence);
		last = v->sequence;
		if (catalogue_by_label(c, v->label) != v)
			return error_set(err, -EBADMSG, "catalogue: label '%s' occurs twice", v->label);
	}
	if (c->next_sequence == 0 || c->next_sequence > DSFS_SEQUENCE_MAX + 1)
		return error_set(err, -EBADMSG, "catalogue: next sequence %" PRIu64 ", expected 1 to %u",
				 c->next_sequence, DSFS_SEQUENCE_MAX + 1);
	if (c->current && !catalogue_by_sequence(c, c->current))
		return error_set(err, -EBADMSG, "catalogue: current version %" PRIu64 " does not exist", c->current);
	return 0;
}

/* The publisher continues at the tail, so it must be a place for data. */
static int catalogue_check_tail(const struct superblock *super, uint64_t tail, struct error *err)
{
	uint64_t offset = address_offset(tail);

	if (tail != 0 && (address_member(tail) >= super->member_count || offset % DSFS_BLOCK ||
			  offset < DSFS_DATA_AT || offset > super->member_size))
		return error_set(err, -EBADMSG, "catalogue: tail %#" PRIx64 " is outside the volume", tail);
	return 0;
}

static int catalogue_decode_versions(struct decoder *d, const struct dsfs_version *records, uint32_t count,
				     struct catalogue *c, struct error *err)
{
	int r;

	c->versions = calloc(count ? count : 1, sizeof(*c->versions));
	if (!c->versions)
		return error_set(err, -ENOMEM, "catalogue: no memory for %" PRIu32 " versions", count);
	for (uint32_t i = 0; i < count; i++) {
		c->version_count = i + 1;
		r = version_decode(d, &records[i], &c->versions[i], err);
		if (r < 0)
			return r;
	}
	return catalogue_check(c, err);
}

int catalogue_decode(const uint8_t *bytes, uint64_t length, const struct superblock *super, struct catalogue *ret,
		     struct error *err)
{
	struct span span = { bytes, length };
	const struct dsfs_catalogue *head = span_at(span, 0, sizeof(*head));
	struct decoder d = { .super = super };
	struct catalogue c = { 0 };
	const struct dsfs_version *records;
	uint32_t versions;
	uint64_t at;
	int r;

	if (!head || memcmp(head->magic, DSFS_CATALOGUE_MAGIC, sizeof(head->magic)) != 0)
		return error_set(err, -EBADMSG, "catalogue: bad magic");
	if (memcmp(head->volume_uuid, super->volume_uuid, sizeof(head->volume_uuid)) != 0)
		return error_set(err, -EBADMSG, "catalogue: belongs to another volume");
	versions = le32_get(head->version_count);
	d.extent_count = le32_get(head->extent_count);
	at = sizeof(*head) + (uint64_t)versions * sizeof(*records);
	records = span_at(span, sizeof(*head), (uint64_t)versions * sizeof(*records));
	d.extents = span_at(span, at, (uint64_t)d.extent_count * sizeof(*d.extents));
	if (!records || !d.extents || versions > DSFS_VERSIONS_MAX || d.extent_count > DSFS_EXTENTS_MAX)
		return error_set(err, -EBADMSG,
				 "catalogue: %" PRIu32 " versions and %" PRIu32 " extents do not fit in %" PRIu64 " bytes",
				 versions, d.extent_count, length);
	memcpy(c.volume_uuid, head->volume_uuid, sizeof(c.volume_uuid));
	c.next_sequence = le64_get(head->next_sequence);
	c.current = le64_get(head->current);
	c.tail = le64_get(head->tail);
	r = catalogue_check_tail(super, c.tail, err);
	if (r < 0)
		return r;
	r = catalogue_decode_versions(&d, records, versions, &c, err);
	if (r < 0) {
		catalogue_free(&c);
		return r;
	}
	*ret = c;
	return 0;
}

/* --- loading --- */

static int catalogue_check_sha256(const uint8_t *bytes, const struct superblock *super, struct error *err)
{
	uint8_t found[SHA256_SIZE];
	int r = sha256_of(bytes, super->catalogue_length, found, err);

	if (r < 0)
		return r;
	if (memcmp(found, super->catalogue_sha256, sizeof(found)) != 0)
		return error_set(err, -EBADMSG, "catalogue: its SHA-256 is not the one in the superblock");
	return 0;
}

static int catalogue_read(struct source *source, const struct superblock *super, struct catalogue *ret,
			  struct error *err)
{
	auto_free uint8_t *bytes = aligned_alloc(DSFS_BLOCK, round_up(super->catalogue_length, DSFS_BLOCK));
	int r;

	if (!bytes)
		return error_set(err, -ENOMEM, "catalogue: no memory for %" PRIu64 " bytes", super->catalogue_length);
	r = source_read(source, address_member(super->catalogue_address), address_offset(super->catalogue_address),
			bytes, super->catalogue_length, err);
	if (r < 0)
		return r;
	r = catalogue_check_sha256(bytes, super, err);
	if (r < 0)
		return r;
	return catalogue_decode(bytes, super->catalogue_length, super, ret, err);
}

int catalogue_load(struct source *source, struct superblock *ret_super, struct catalogue *ret, struct error *err)
{
	struct superblock super;
	uint64_t tried;
	int r;

	r = superblock_find(source, &super, err);
	if (r < 0)
		return r;
	do {
		struct superblock newer;

		r = catalogue_read(source, &super, ret, err);
		if (r != -EBADMSG)
			break;
		tried = super.sequence;
		if (superblock_find(source, &newer, NULL) < 0)
			break;
		super = newer;
	} while (super.sequence > tried);
	if (r < 0)
		return r;
	*ret_super = super;
	return 0;
}

/* Unknown incompat bits of the superblock were refused when it was decoded. */
int catalogue_check_writable(const struct superblock *super, const struct catalogue *catalogue, struct error *err)
{
	uint64_t compat = super->feature_compat & ~DSFS_COMPAT_KNOWN, incompat;

	if (compat)
		return error_set(err, -EOPNOTSUPP,
				 "superblock: written by a newer datasetfs, unknown features %#" PRIx64
				 ": change the volume with that release",
				 compat);
	for (uint32_t i = 0; i < catalogue->version_count; i++) {
		const struct version *v = &catalogue->versions[i];

		compat = v->feature_compat & ~DSFS_VERSION_COMPAT_KNOWN;
		incompat = v->feature_incompat & ~DSFS_VERSION_INCOMPAT_KNOWN;
		if (compat || incompat)
			return error_set(err, -EOPNOTSUPP,
					 "version '%s': written by a newer datasetfs, unknown features %#" PRIx64
					 " and %#" PRIx64 ": change the volume with that release",
					 v->label, compat, incompat);
	}
	return 0;
}

struct version *catalogue_by_label(const struct catalogue *catalogue, const char *label)
{
	for (uint32_t i = 0; i < catalogue->version_count; i++)
		if (!strcmp(catalogue->versions[i].label, label))
			return &catalogue->versions[i];
	return NULL;
}

struct version *catalogue_by_sequence(const struct catalogue *catalogue, uint64_t sequence)
{
	for (uint32_t i = 0; i < catalogue->version_count; i++)
		if (catalogue->versions[i].sequence == sequence)
			return &catalogue->versions[i];
	return NULL;
}

struct version *catalogue_by_uuid(const struct catalogue *catalogue, const uint8_t *uuid)
{
	for (uint32_t i = 0; i < catalogue->version_count; i++)
		if (!memcmp(catalogue->versions[i].uuid, uuid, sizeof(catalogue->versions[i].uuid)))
			return &catalogue->versions[i];
	return NULL;
}

bool catalogue_holds(const struct catalogue *catalogue, uint64_t sequence, const uint8_t *uuid)
{
	const struct version *version = catalogue_by_sequence(catalogue, sequence);

	return version && !memcmp(version->uuid, uuid, sizeof(version->uuid));
}

struct version *catalogue_current(const struct catalogue *catalogue)
{
	return catalogue->current ? catalogue_by_sequence(catalogue, catalogue->current) : NULL;
}

int catalogue_append(struct catalogue *catalogue, struct version *version, struct error *err)
{
	size_t size = (catalogue->version_count + 1) * sizeof(*catalogue->versions);
	struct version *versions = realloc(catalogue->versions, size);

	if (!versions)
		return error_set(err, -ENOMEM, "catalogue: no memory for %zu bytes", size);
	catalogue->versions = versions;
	versions[catalogue->version_count++] = *version;
	version->segments = (struct extent_list){ 0 };
	version->index = (struct extent_list){ 0 };
	return 0;
}

void catalogue_remove(struct catalogue *catalogue, struct version *version)
{
	struct version *end = catalogue->versions + catalogue->version_count--;

	version_free(version);
	memmove(version, version + 1, (size_t)(end - (version + 1)) * sizeof(*version));
}
