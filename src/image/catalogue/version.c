/* SPDX-License-Identifier: MIT */
/* Version records: encode, and decode with every field checked. */
#include "image/catalogue/version.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/round.h"
#include "image/members/address.h"
#include "image/sums/sum.h"

void version_free(struct version *version)
{
	extent_list_free(&version->segments);
	extent_list_free(&version->index.extents);
	extent_list_free(&version->source.extents);
	extent_list_free(&version->block_sums.extents);
	free(version->signatures);
	version->signatures = NULL;
}

void version_disown_lists(struct version *version)
{
	version->segments = version->index.extents = (struct extent_list){ 0 };
	version->source.extents = version->block_sums.extents = (struct extent_list){ 0 };
	version->signatures = NULL;
	version->signature_bytes = 0;
}

int version_copy_signatures(const struct version *from, struct version *to, struct error *err)
{
	if (!from->signature_bytes)
		return 0;
	to->signatures = malloc(from->signature_bytes);
	if (!to->signatures)
		return error_no_memory(err);
	memcpy(to->signatures, from->signatures, from->signature_bytes);
	to->signature_bytes = from->signature_bytes;
	return 0;
}

int version_copy_lists(const struct version *from, struct version *to, struct error *err)
{
	int r;

	version_disown_lists(to);
	r = extent_list_copy(&from->segments, &to->segments, err);
	if (r == 0)
		r = extent_list_copy(&from->index.extents, &to->index.extents, err);
	if (r == 0)
		r = extent_list_copy(&from->source.extents, &to->source.extents, err);
	if (r == 0)
		r = extent_list_copy(&from->block_sums.extents, &to->block_sums.extents, err);
	return r < 0 ? r : version_copy_signatures(from, to, err);
}

/* --- encoding --- */

/* Without members a section lies in one extent, which the record itself names. */
static struct dsfs_extent section_encode(const struct version_section *section, bool has_members)
{
	uint64_t address = section->length && !has_members ? section->extents.items[0].address : 0;

	return (struct dsfs_extent){ dsfs_le64_of(address), dsfs_le64_of(section->length) };
}

/* Writes where the version's lists begin in the table that follows the records. */
static void version_encode_lists(const struct version *v, uint32_t first, bool has_members, struct dsfs_version *disk)
{
	disk->first_segment = dsfs_le32_of(first);
	disk->segment_count = dsfs_le32_of(v->segments.count);
	disk->first_index = dsfs_le32_of(first += v->segments.count);
	disk->index_extents = dsfs_le32_of(v->index.extents.count);
	if (!has_members)
		return;
	disk->first_source = dsfs_le32_of(first += v->index.extents.count);
	disk->source_extents = dsfs_le32_of(v->source.extents.count);
	disk->first_fine = dsfs_le32_of(first += v->source.extents.count);
	disk->fine_extents = dsfs_le32_of(v->block_sums.extents.count);
}

uint64_t version_extent_count(const struct version *v, bool has_members)
{
	uint64_t sections = (uint64_t)v->source.extents.count + v->block_sums.extents.count;

	return (uint64_t)v->segments.count + v->index.extents.count + (has_members ? sections : 0);
}

void version_encode(const struct version *v, uint32_t first_extent, uint32_t first_signature, bool has_members,
		    struct dsfs_version *disk)
{
	memcpy(disk->label, v->label, strlen(v->label));
	memcpy(disk->uuid, v->uuid, sizeof(disk->uuid));
	memcpy(disk->digest, v->digest, sizeof(disk->digest));
	memcpy(disk->index_sha256, v->index.sha256, sizeof(disk->index_sha256));
	disk->sequence = dsfs_le64_of(v->sequence);
	disk->created = dsfs_le64_of(v->created);
	disk->feature_compat = dsfs_le64_of(v->feature_compat);
	disk->feature_incompat = dsfs_le64_of(v->feature_incompat);
	disk->chunk_log = dsfs_le32_of(v->chunk_log);
	disk->chunk_sum = dsfs_le32_of(v->shape.chunk_sum);
	version_encode_lists(v, first_extent, has_members, disk);
	disk->index_length = dsfs_le64_of(v->index.length);
	disk->names_length = dsfs_le64_of(v->shape.names_length);
	disk->inode_count = dsfs_le64_of(v->shape.inode_count);
	disk->chunk_count = dsfs_le64_of(v->shape.chunk_count);
	disk->class_count = dsfs_le64_of(v->shape.class_count);
	disk->blob_length = dsfs_le64_of(v->shape.blob_length);
	disk->entry_count = dsfs_le64_of(v->shape.entry_count);
	disk->file_count = dsfs_le64_of(v->file_count);
	disk->directory_count = dsfs_le64_of(v->directory_count);
	disk->symlink_count = dsfs_le64_of(v->symlink_count);
	disk->content_bytes = dsfs_le64_of(v->content_bytes);
	disk->stored_bytes = dsfs_le64_of(v->stored_bytes);
	disk->source = section_encode(&v->source, has_members);
	memcpy(disk->source_sha256, v->source.sha256, sizeof(disk->source_sha256));
	disk->fine = section_encode(&v->block_sums, has_members);
	memcpy(disk->fine_sha256, v->block_sums.sha256, sizeof(disk->fine_sha256));
	disk->places_at = dsfs_le64_of(v->shape.places_at);
	disk->places_seed = dsfs_le64_of(v->places_seed);
	if (!v->signature_bytes)
		return;
	disk->first_signature = dsfs_le32_of(first_signature);
	disk->signature_bytes = dsfs_le32_of(v->signature_bytes);
}

bool version_is_same(const struct version *a, const struct version *b)
{
	struct version plain[2] = { *a, *b };
	struct dsfs_version disk[2] = { 0 };

	for (unsigned i = 0; i < 2; i++) {
		plain[i].signature_bytes = 0;
		version_encode(&plain[i], 0, 0, true, &disk[i]);
	}
	return !memcmp(&disk[0], &disk[1], sizeof(disk[0]));
}

static struct dsfs_extent *extents_encode(const struct extent_list *list, struct dsfs_extent *disk)
{
	for (uint32_t i = 0; i < list->count; i++, disk++)
		*disk = (struct dsfs_extent){ dsfs_le64_of(list->items[i].address),
					      dsfs_le64_of(list->items[i].length) };
	return disk;
}

struct dsfs_extent *version_encode_extents(const struct version *v, bool has_members, struct dsfs_extent *disk)
{
	disk = extents_encode(&v->index.extents, extents_encode(&v->segments, disk));
	return has_members ? extents_encode(&v->block_sums.extents, extents_encode(&v->source.extents, disk)) : disk;
}

/* --- decoding --- */

/* Returns 0 if there is no such member. */
static uint64_t decoder_member_size(const struct version_decoder *d, uint32_t member)
{
	if (d->members->count)
		return members_size(d->members, member);
	return member == 0 ? d->super->member_size : 0;
}

static int extent_check(const struct version_decoder *d, const struct extent *e, uint64_t align, const char *what,
			struct error *err)
{
	uint64_t offset = address_offset(e->address), size = decoder_member_size(d, address_member(e->address));

	if (!size || offset % align || e->length == 0 || offset > size || e->length > round_up(size, align) - offset)
		return error_set(err, -EBADMSG,
				 "catalogue: %s at %#" PRIx64 "+%" PRIu64
				 " is outside the volume or not aligned to %" PRIu64,
				 what, e->address, e->length, align);
	return 0;
}

static uint64_t decoder_volume_size(const struct version_decoder *d)
{
	uint64_t size = 0;

	for (uint32_t i = 0; i < d->super->member_count; i++)
		size += decoder_member_size(d, i); /* with members, each is below 2^56 */
	return size;
}

/* A list in the table, as a record names it. */
struct decoder_list {
	dsfs_le32 first, count;
	uint64_t align;
	const char *what; /* for messages */
};

/* Requires lists to lie one after the other, so that a table of n extents never takes memory for more than n. */
static int extents_decode(struct version_decoder *d, const struct decoder_list *list, struct extent_list *ret,
			  struct error *err)
{
	uint32_t from = dsfs_le32_get(list->first), n = dsfs_le32_get(list->count);
	int r;

	if (from != d->extents_used || n > d->extent_count - from)
		return error_set(err, -EBADMSG,
				 "catalogue: %s extents %" PRIu32 "+%" PRIu32 " of %" PRIu32
				 ", expected to begin at %" PRIu32,
				 list->what, from, n, d->extent_count, d->extents_used);
	d->extents_used += n;
	ret->items = calloc(n ? n : 1, sizeof(*ret->items));
	if (!ret->items)
		return error_no_memory(err);
	ret->count = n;
	for (uint32_t i = 0; i < n; i++) {
		ret->items[i].address = dsfs_le64_get(d->extents[from + i].address);
		ret->items[i].length = dsfs_le64_get(d->extents[from + i].length);
		r = extent_check(d, &ret->items[i], list->align, list->what, err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Segments ascend without overlap, so no list is longer than the volume. With members, all are data columns. */
static int segments_check(const struct version_decoder *d, const struct extent_list *list, struct error *err)
{
	uint64_t end = 0;

	for (uint32_t i = 0; i < list->count; i++) {
		if (list->items[i].address < end)
			return error_set(err, -EBADMSG,
					 "catalogue: segments at %#" PRIx64 " come after those up to %#" PRIx64,
					 list->items[i].address, end);
		end = list->items[i].address + list->items[i].length;
		if (d->members->count && !members_in_columns(d->members, d->runs, list->items[i].address,
							     list->items[i].length))
			return error_set(err, -EBADMSG,
					 "catalogue: segments at %#" PRIx64 "+%" PRIu64 " are not all data columns",
					 list->items[i].address, list->items[i].length);
	}
	return 0;
}

/* With members, each extent that is read must be in the used part of one column. */
static int extents_check_columns(const struct version_decoder *d, const struct extent_list *list, const char *what,
				 struct error *err)
{
	for (uint32_t i = 0; d->members->count && i < list->count; i++)
		if (!members_in_column(d->members, list->items[i].address, list->items[i].length))
			return error_set(err, -EBADMSG,
					 "catalogue: %s at %#" PRIx64 "+%" PRIu64 " is not in one data column, below "
					 "its tail", what, list->items[i].address, list->items[i].length);
	return 0;
}

/* Checks that the first count extents are whole blocks. */
static int extents_check_blocks(const struct extent_list *list, uint32_t count, const char *what, struct error *err)
{
	for (uint32_t i = 0; i < count; i++)
		if (list->items[i].length % DSFS_BLOCK)
			return error_set(err, -EBADMSG,
					 "catalogue: %s extent of %" PRIu64 " bytes, expected whole blocks of %u", what,
					 list->items[i].length, DSFS_BLOCK);
	return 0;
}

static void version_decode_fields(const struct dsfs_version *disk, struct version *v)
{
	memcpy(v->label, disk->label, sizeof(disk->label));
	memcpy(v->uuid, disk->uuid, sizeof(v->uuid));
	memcpy(v->digest, disk->digest, sizeof(v->digest));
	memcpy(v->index.sha256, disk->index_sha256, sizeof(v->index.sha256));
	v->sequence = dsfs_le64_get(disk->sequence);
	v->created = dsfs_le64_get(disk->created);
	v->feature_compat = dsfs_le64_get(disk->feature_compat);
	v->feature_incompat = dsfs_le64_get(disk->feature_incompat);
	v->chunk_log = dsfs_le32_get(disk->chunk_log);
	v->shape.chunk_sum = dsfs_le32_get(disk->chunk_sum);
	v->index.length = dsfs_le64_get(disk->index_length);
	v->shape.names_length = dsfs_le64_get(disk->names_length);
	v->shape.inode_count = dsfs_le64_get(disk->inode_count);
	v->shape.chunk_count = dsfs_le64_get(disk->chunk_count);
	v->shape.class_count = dsfs_le64_get(disk->class_count);
	v->shape.blob_length = dsfs_le64_get(disk->blob_length);
	v->shape.entry_count = dsfs_le64_get(disk->entry_count);
	v->file_count = dsfs_le64_get(disk->file_count);
	v->directory_count = dsfs_le64_get(disk->directory_count);
	v->symlink_count = dsfs_le64_get(disk->symlink_count);
	v->content_bytes = dsfs_le64_get(disk->content_bytes);
	v->stored_bytes = dsfs_le64_get(disk->stored_bytes);
	v->source.length = dsfs_le64_get(disk->source.length);
	memcpy(v->source.sha256, disk->source_sha256, sizeof(v->source.sha256));
	v->block_sums.length = dsfs_le64_get(disk->fine.length);
	memcpy(v->block_sums.sha256, disk->fine_sha256, sizeof(v->block_sums.sha256));
	if (!(v->feature_compat & DSFS_VERSION_COMPAT_PLACES))
		return;
	v->shape.places_at = dsfs_le64_get(disk->places_at);
	v->shape.places_count = v->file_count;
	v->places_seed = dsfs_le64_get(disk->places_seed);
}

/* Checks the label first, because every later reason names it. */
static int version_check_own_label(const struct version *v, struct error *err)
{
	struct error why = { 0 };

	if (v->label[DSFS_LABEL_MAX] != 0 || version_check_label(v->label, &why) < 0)
		return error_set(err, -EBADMSG, "catalogue: version sequence=%" PRIu64 " has a bad label", v->sequence);
	return 0;
}

static int version_check(const struct version *v, uint64_t volume_size, struct error *err)
{
	struct index_layout layout;
	uint64_t held = 0;
	int r;

	if (v->chunk_log < DSFS_CHUNK_LOG_MIN || v->chunk_log > DSFS_CHUNK_LOG_MAX)
		return error_set(err, -EBADMSG, "version '%s': chunk size 2^%" PRIu32 ", expected 2^%u to 2^%u",
				 v->label, v->chunk_log, DSFS_CHUNK_LOG_MIN, DSFS_CHUNK_LOG_MAX);
	r = index_layout(&v->shape, &layout, err);
	if (r < 0)
		return r;
	if (!sum_is_known(v->shape.chunk_sum)) /* index_load() refuses it: its records may have another length */
		layout.length = v->index.length;
	if (layout.length > volume_size)
		return error_set(err, -EBADMSG,
				 "version '%s': an index of %" PRIu64 " bytes in a volume of %" PRIu64, v->label,
				 layout.length, volume_size);
	for (uint32_t i = 0; i < v->index.extents.count && held <= layout.length; i++)
		held += v->index.extents.items[i].length; /* each below 2^62: no overflow */
	if (v->index.length != layout.length || held != layout.length)
		return error_set(err, -EBADMSG,
				 "version '%s': index of %" PRIu64 " bytes in extents of %" PRIu64
				 ", its parts need %" PRIu64,
				 v->label, v->index.length, held, layout.length);
	if (v->shape.inode_count == 0)
		return error_set(err, -EBADMSG, "version '%s': no inodes, expected at least the root", v->label);
	if (v->file_count > v->shape.inode_count)
		return error_set(err, -EBADMSG,
				 "version '%s': %" PRIu64 " files, expected at most its %" PRIu64 " inodes",
				 v->label, v->file_count, v->shape.inode_count);
	return 0;
}

/* Checks that the extents hold exactly the section. Each was found in a column, so the sum cannot overflow. */
static int section_check(const struct version_section *section, uint64_t address, const char *what, struct error *err)
{
	uint64_t held = 0;

	for (uint32_t i = 0; i < section->extents.count; i++)
		held += section->extents.items[i].length;
	if (address != 0 || held != section->length)
		return error_set(err, -EBADMSG,
				 "catalogue: %s of %" PRIu64 " bytes at %#" PRIx64 ", its extents have %" PRIu64, what,
				 section->length, address, held);
	return extents_check_blocks(&section->extents, held ? section->extents.count - 1 : 0, what, err);
}

/* Decodes a section that may be absent: a list with members, else one extent. */
static int section_decode(struct version_decoder *d, const struct dsfs_extent *disk, const struct decoder_list *list,
			  struct version_section *section, struct error *err)
{
	struct extent extent = { dsfs_le64_get(disk->address), section->length };
	int r;

	if (d->members->count) {
		r = extents_decode(d, list, &section->extents, err);
		if (r == 0)
			r = extents_check_columns(d, &section->extents, list->what, err);
		return r < 0 ? r : section_check(section, extent.address, list->what, err);
	}
	if (!section->length)
		return 0;
	r = extent_check(d, &extent, list->align, list->what, err);
	return r < 0 ? r : extent_list_add(&section->extents, extent.address, extent.length, err);
}

static int version_decode_lists(struct version_decoder *d, const struct dsfs_version *disk, struct version *v,
				struct error *err)
{
	const struct decoder_list segments = { disk->first_segment, disk->segment_count,
					       UINT64_C(1) << d->super->segment_log, "segments" };
	const struct decoder_list index = { disk->first_index, disk->index_extents, DSFS_BLOCK, "index" };
	const struct decoder_list source = { disk->first_source, disk->source_extents, DSFS_BLOCK, "source section" };
	const struct decoder_list sums = { disk->first_fine, disk->fine_extents, DSFS_BLOCK, "block checksums" };
	int r = extents_decode(d, &segments, &v->segments, err);

	if (r == 0)
		r = segments_check(d, &v->segments, err);
	if (r == 0)
		r = extents_decode(d, &index, &v->index.extents, err);
	if (r == 0)
		r = extents_check_columns(d, &v->index.extents, index.what, err);
	if (r == 0)
		r = extents_check_blocks(&v->index.extents, v->index.extents.count, index.what, err);
	if (r == 0)
		r = section_decode(d, &disk->source, &source, &v->source, err);
	if (r == 0)
		r = section_decode(d, &disk->fine, &sums, &v->block_sums, err);
	return r;
}

/* Requires signatures to lie one after the other, as lists do. */
static int version_decode_signatures(struct version_decoder *d, const struct dsfs_version *disk, struct version *v,
				     struct error *err)
{
	uint32_t from = dsfs_le32_get(disk->first_signature), n = dsfs_le32_get(disk->signature_bytes);
	const void *text = n ? span_at(d->signatures, from, n) : NULL;

	if (!(v->feature_compat & DSFS_VERSION_COMPAT_SIGNED))
		return 0;
	if (!text || from != d->signatures_used || n > DSFS_SIGNATURES_MAX)
		return error_set(err, -EBADMSG,
				 "version '%s': signatures %" PRIu32 "+%" PRIu32 " of %" PRIu64
				 ", expected to begin at %" PRIu32 " and have 1 to %u",
				 v->label, from, n, d->signatures.size, d->signatures_used, DSFS_SIGNATURES_MAX);
	v->signatures = malloc(n);
	if (!v->signatures)
		return error_no_memory(err);
	memcpy(v->signatures, text, n);
	v->signature_bytes = n;
	d->signatures_used += n;
	return 0;
}

int version_decode(struct version_decoder *d, const struct dsfs_version *disk, struct version *v, struct error *err)
{
	int r;

	version_decode_fields(disk, v);
	r = version_check_own_label(v, err);
	if (r == 0)
		r = version_decode_lists(d, disk, v, err);
	if (r == 0)
		r = version_decode_signatures(d, disk, v, err);
	return r < 0 ? r : version_check(v, decoder_volume_size(d), err);
}
