/* SPDX-License-Identifier: MIT */
/* The catalogue: encode, decode with every record checked, look up. */
#include "image/catalogue/catalogue.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "base/round.h"
#include "base/span.h"
#include "base/text/format.h"
#include "image/members/address.h"
#include "image/members/members_table.h"

#define CATALOGUE_NAMED  4  /* labels in a message */
#define CATALOGUE_DIGITS 16 /* digits of a digest that select a version, at least */

void catalogue_free(struct catalogue *catalogue)
{
	for (uint32_t i = 0; i < catalogue->version_count; i++)
		version_free(&catalogue->versions[i]);
	free(catalogue->versions);
	members_free(&catalogue->members);
	*catalogue = (struct catalogue){ 0 };
}

/* --- encoding --- */

static uint64_t catalogue_extent_count(const struct catalogue *c)
{
	uint64_t count = 0;

	for (uint32_t i = 0; i < c->version_count; i++)
		count += version_extent_count(&c->versions[i], c->members.count);
	return count;
}

static uint64_t catalogue_signature_bytes(const struct catalogue *c)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < c->version_count; i++)
		bytes += c->versions[i].signature_bytes;
	return bytes;
}

static void catalogue_encode_head(const struct catalogue *c, uint32_t extent_count, struct dsfs_catalogue *head)
{
	memcpy(head->magic, DSFS_CATALOGUE_MAGIC, sizeof(head->magic));
	head->version_count = dsfs_le32_of(c->version_count);
	head->extent_count = dsfs_le32_of(extent_count);
	head->next_sequence = dsfs_le64_of(c->next_sequence);
	head->current = dsfs_le64_of(c->current);
	head->tail = dsfs_le64_of(c->tail);
	memcpy(head->volume_uuid, c->volume_uuid, sizeof(head->volume_uuid));
}

static void catalogue_encode_into(const struct catalogue *c, uint32_t extent_count, uint8_t *bytes)
{
	struct dsfs_catalogue *head = (struct dsfs_catalogue *)bytes;
	struct dsfs_version *records = (struct dsfs_version *)(head + 1);
	struct dsfs_extent *extents = (struct dsfs_extent *)(records + c->version_count);
	uint32_t first = 0, signatures = 0;
	uint8_t *text;

	catalogue_encode_head(c, extent_count, head);
	for (uint32_t i = 0; i < c->version_count; i++) {
		version_encode(&c->versions[i], first, signatures, c->members.count, &records[i]);
		extents = version_encode_extents(&c->versions[i], c->members.count, extents);
		first += (uint32_t)version_extent_count(&c->versions[i], c->members.count);
		signatures += c->versions[i].signature_bytes;
	}
	members_table_encode(&c->members, (uint8_t *)extents);
	text = (uint8_t *)extents + members_table_length(&c->members);
	for (uint32_t i = 0; i < c->version_count; text += c->versions[i++].signature_bytes)
		if (c->versions[i].signature_bytes)
			memcpy(text, c->versions[i].signatures, c->versions[i].signature_bytes);
}

int catalogue_encode(const struct catalogue *c, uint8_t **ret_bytes, uint64_t *ret_length, struct error *err)
{
	uint64_t count = catalogue_extent_count(c);
	uint64_t length = round_up(sizeof(struct dsfs_catalogue) + c->version_count * sizeof(struct dsfs_version) +
					   count * sizeof(struct dsfs_extent) + members_table_length(&c->members) +
					   catalogue_signature_bytes(c),
				   DSFS_BLOCK);
	uint8_t *bytes;

	if (c->version_count > DSFS_VERSIONS_MAX || count > DSFS_EXTENTS_MAX || length > DSFS_CATALOGUE_MAX)
		return error_set(err, -E2BIG, "catalogue: too large: versions=%" PRIu32 " extents=%" PRIu64,
				 c->version_count, count);
	bytes = aligned_alloc(DSFS_BLOCK, length);
	if (!bytes)
		return error_no_memory(err);
	memset(bytes, 0, length);
	catalogue_encode_into(c, (uint32_t)count, bytes);
	*ret_bytes = bytes;
	*ret_length = length;
	return 0;
}

/* --- decoding --- */

/* Checks that sequences ascend below next_sequence, labels differ, and current exists. */
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

/* The publisher continues at the tail, so it must be a place for data. Groups have tails of their own. */
static int catalogue_check_tail(const struct superblock *super, uint64_t tail, struct error *err)
{
	uint64_t offset = address_offset(tail);

	if (tail != 0 && (super->feature_incompat & DSFS_INCOMPAT_MEMBERS || address_member(tail) != 0 ||
			  offset % DSFS_BLOCK || offset < DSFS_DATA_AT || offset > super->member_size))
		return error_set(err, -EBADMSG, "catalogue: tail %#" PRIx64 " is outside the volume", tail);
	return 0;
}

static int catalogue_decode_versions(struct version_decoder *d, const struct dsfs_version *records, uint32_t count,
				     struct catalogue *c, struct error *err)
{
	int r;

	c->versions = calloc(count ? count : 1, sizeof(*c->versions));
	if (!c->versions)
		return error_no_memory(err);
	for (uint32_t i = 0; i < count; i++) {
		c->version_count = i + 1;
		r = version_decode(d, &records[i], &c->versions[i], err);
		if (r < 0)
			return r;
	}
	return catalogue_check(c, err);
}

/* Decodes the parts after the header, each as long as its counts say. */
static int catalogue_decode_parts(struct span span, const struct dsfs_catalogue *head, const struct superblock *super,
				  struct catalogue *c, struct error *err)
{
	struct version_decoder d = { .super = super, .members = &c->members };
	uint32_t versions = dsfs_le32_get(head->version_count);
	uint64_t at = sizeof(*head) + (uint64_t)versions * sizeof(struct dsfs_version);
	const struct dsfs_version *records = span_at(span, sizeof(*head), at - sizeof(*head));
	auto_free uint32_t *runs = NULL;
	int r = 0;

	d.extent_count = dsfs_le32_get(head->extent_count);
	d.extents = span_at(span, at, (uint64_t)d.extent_count * sizeof(*d.extents));
	if (!records || !d.extents || versions > DSFS_VERSIONS_MAX || d.extent_count > DSFS_EXTENTS_MAX)
		return error_set(err, -EBADMSG,
				 "catalogue: %" PRIu32 " versions and %" PRIu32 " extents do not fit in %" PRIu64
				 " bytes",
				 versions, d.extent_count, span.size);
	at += (uint64_t)d.extent_count * sizeof(*d.extents);
	if (super->feature_incompat & DSFS_INCOMPAT_MEMBERS)
		r = members_table_decode((struct span){ span.base + at, span.size - at }, super, &c->members, err);
	if (r < 0)
		return r;
	at += members_table_length(&c->members);
	d.signatures = (struct span){ span.base + at, span.size - at };
	d.runs = runs = members_runs(&c->members);
	if (!runs)
		return error_no_memory(err);
	return catalogue_decode_versions(&d, records, versions, c, err);
}

int catalogue_decode(const uint8_t *bytes, uint64_t length, const struct superblock *super, struct catalogue *ret,
		     struct error *err)
{
	struct span span = { bytes, length };
	const struct dsfs_catalogue *head = span_at(span, 0, sizeof(*head));
	struct catalogue c = { 0 };
	int r;

	if (!head || memcmp(head->magic, DSFS_CATALOGUE_MAGIC, sizeof(head->magic)) != 0)
		return error_set(err, -EBADMSG, "catalogue: bad magic");
	if (memcmp(head->volume_uuid, super->volume_uuid, sizeof(head->volume_uuid)) != 0)
		return error_set(err, -EBADMSG, "catalogue: belongs to another volume");
	memcpy(c.volume_uuid, head->volume_uuid, sizeof(c.volume_uuid));
	c.next_sequence = dsfs_le64_get(head->next_sequence);
	c.current = dsfs_le64_get(head->current);
	c.tail = dsfs_le64_get(head->tail);
	r = catalogue_check_tail(super, c.tail, err);
	if (r == 0)
		r = catalogue_decode_parts(span, head, super, &c, err);
	if (r < 0) {
		catalogue_free(&c);
		return r;
	}
	*ret = c;
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

int catalogue_refuse(const struct catalogue *catalogue, const char *label, struct error *err)
{
	const uint32_t count = catalogue->version_count;
	uint32_t first = count > CATALOGUE_NAMED ? count - CATALOGUE_NAMED : 0; /* the newest ones */
	char there[CATALOGUE_NAMED * (DSFS_LABEL_MAX + 2) + 1] = "";
	size_t length = 0;

	if (!count)
		return error_set(err, -ENOENT, "the volume has no version '%s', and no other: publish one", label);
	for (uint32_t i = first; i < count; i++)
		length += (size_t)snprintf(there + length, sizeof(there) - length, "%s%s", i > first ? ", " : "",
					   catalogue->versions[i].label);
	return error_set(err, -ENOENT, "the volume has no version '%s': choose one that it has, %s%s", label,
			 first ? "the newest are " : "", there);
}

/* ---- versions by their digests ---- */

/* Of two versions with the same digest, the one that users mean. */
static struct version *catalogue_prefer(const struct catalogue *catalogue, struct version *a, struct version *b)
{
	if (!a || a->sequence == catalogue->current)
		return a ? a : b;
	return b->sequence == catalogue->current || b->sequence > a->sequence ? b : a;
}

struct version *catalogue_by_digest(const struct catalogue *catalogue, const uint8_t digest[32])
{
	struct version *found = NULL;

	for (uint32_t i = 0; i < catalogue->version_count; i++)
		if (!memcmp(catalogue->versions[i].digest, digest, sizeof(catalogue->versions[i].digest)))
			found = catalogue_prefer(catalogue, found, &catalogue->versions[i]);
	return found;
}

/* Whether the name is "sha256:" and some digits: all of a digest, or so many of the first that they can select. */
static int catalogue_check_digits(const char *name, struct error *err)
{
	static const char kind[] = "sha256:";
	const char *digits = name + strlen(kind);
	size_t length;

	if (strncmp(name, kind, strlen(kind)) != 0)
		return -ENOENT;
	length = strlen(digits);
	if (strspn(digits, "0123456789abcdefABCDEF") != length || length < CATALOGUE_DIGITS || length > 64)
		return error_set(err, -EINVAL, "'%s': expected a label, or sha256: and the first digits of a digest, "
				 "%d to 64 of them", name, CATALOGUE_DIGITS);
	return 0;
}

static int catalogue_by_digits(const struct catalogue *catalogue, const char *name, const struct version **ret,
			       struct error *err)
{
	struct version *found = NULL;
	char text[DIGEST_TEXT_SIZE];

	for (uint32_t i = 0; i < catalogue->version_count; i++) {
		struct version *version = &catalogue->versions[i];

		format_digest(version->digest, text);
		if (strncasecmp(text, name, strlen(name)) != 0)
			continue;
		if (found && memcmp(found->digest, version->digest, sizeof(found->digest)) != 0)
			return error_set(err, -ENOTUNIQ, "the digests of '%s' and '%s' begin with %s: give more "
					 "digits", found->label, version->label, name);
		found = catalogue_prefer(catalogue, found, version);
	}
	if (!found)
		return catalogue_refuse(catalogue, name, err);
	*ret = found;
	return 0;
}

int catalogue_select(const struct catalogue *catalogue, const char *name, const struct version **ret,
		     struct error *err)
{
	const struct version *version = catalogue_by_label(catalogue, name);
	int r;

	if (version) {
		*ret = version;
		return 0;
	}
	r = catalogue_check_digits(name, err);
	if (r == -ENOENT)
		return catalogue_refuse(catalogue, name, err);
	return r < 0 ? r : catalogue_by_digits(catalogue, name, ret, err);
}

int catalogue_select_digest(const struct catalogue *catalogue, const uint8_t digest[32], const char *volume,
			    const struct version **ret, struct error *err)
{
	char text[DIGEST_TEXT_SIZE];

	*ret = catalogue_by_digest(catalogue, digest);
	if (*ret)
		return 0;
	format_digest(digest, text);
	return error_set(err, -ENOENT, "no version has the digest %s: 'datasetfsctl list %s' shows those of all", text,
			 volume);
}

int catalogue_refuse_digest(const struct catalogue *catalogue, const char *label, const uint8_t found[32],
			    const uint8_t expected[32], struct error *err)
{
	const struct version *other = catalogue ? catalogue_by_digest(catalogue, expected) : NULL;
	char found_text[DIGEST_TEXT_SIZE], expected_text[DIGEST_TEXT_SIZE];

	format_digest(found, found_text);
	format_digest(expected, expected_text);
	if (!other)
		return error_set(err, -EBADMSG, "version '%s' has the digest %s, expected %s", label, found_text,
				 expected_text);
	return error_set(err, -EBADMSG, "version '%s' has the digest %s, expected %s, which version '%s' has: choose "
			 "it with version=%s", label, found_text, expected_text, other->label, other->label);
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
	int r = grow_one(catalogue->versions, catalogue->version_count, err);

	if (r < 0)
		return r;
	catalogue->versions[catalogue->version_count++] = *version;
	version_disown_lists(version);
	return 0;
}

void catalogue_remove(struct catalogue *catalogue, struct version *version)
{
	struct version *end = catalogue->versions + catalogue->version_count--;

	version_free(version);
	memmove(version, version + 1, (size_t)(end - (version + 1)) * sizeof(*version));
}
