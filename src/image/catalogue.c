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

void catalogue_free(struct catalogue *catalogue)
{
	for (uint32_t i = 0; i < catalogue->version_count; i++)
		version_free(&catalogue->versions[i]);
	free(catalogue->versions);
	*catalogue = (struct catalogue){ 0 };
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
	head->version_count = dsfs_le32_of(catalogue->version_count);
	head->extent_count = dsfs_le32_of((uint32_t)count);
	head->next_sequence = dsfs_le64_of(catalogue->next_sequence);
	head->current = dsfs_le64_of(catalogue->current);
	head->tail = dsfs_le64_of(catalogue->tail);
	memcpy(head->volume_uuid, catalogue->volume_uuid, sizeof(head->volume_uuid));
	count = 0;
	for (uint32_t i = 0; i < catalogue->version_count; i++) {
		const struct version *v = &catalogue->versions[i];

		version_encode(v, (uint32_t)count, &records[i]);
		extents = version_encode_extents(v, extents);
		count += (uint64_t)v->segments.count + v->index.count;
	}
	*ret_bytes = bytes;
	*ret_length = length;
	return 0;
}

/* --- decoding --- */

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

static int catalogue_decode_versions(struct version_decoder *d, const struct dsfs_version *records, uint32_t count,
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
	struct version_decoder d = { .super = super };
	struct catalogue c = { 0 };
	const struct dsfs_version *records;
	uint32_t versions;
	uint64_t at;
	int r;

	if (!head || memcmp(head->magic, DSFS_CATALOGUE_MAGIC, sizeof(head->magic)) != 0)
		return error_set(err, -EBADMSG, "catalogue: bad magic");
	if (memcmp(head->volume_uuid, super->volume_uuid, sizeof(head->volume_uuid)) != 0)
		return error_set(err, -EBADMSG, "catalogue: belongs to another volume");
	versions = dsfs_le32_get(head->version_count);
	d.extent_count = dsfs_le32_get(head->extent_count);
	at = sizeof(*head) + (uint64_t)versions * sizeof(*records);
	records = span_at(span, sizeof(*head), (uint64_t)versions * sizeof(*records));
	d.extents = span_at(span, at, (uint64_t)d.extent_count * sizeof(*d.extents));
	if (!records || !d.extents || versions > DSFS_VERSIONS_MAX || d.extent_count > DSFS_EXTENTS_MAX)
		return error_set(err, -EBADMSG,
				 "catalogue: %" PRIu32 " versions and %" PRIu32 " extents do not fit in %" PRIu64
				 " bytes",
				 versions, d.extent_count, length);
	memcpy(c.volume_uuid, head->volume_uuid, sizeof(c.volume_uuid));
	c.next_sequence = dsfs_le64_get(head->next_sequence);
	c.current = dsfs_le64_get(head->current);
	c.tail = dsfs_le64_get(head->tail);
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
