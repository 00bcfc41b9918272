/* SPDX-License-Identifier: MIT */
/* Makes messages, and checks received ones before anything else uses them. */
#include "handover/handover.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "image/members/address.h"
#include "image/sums/sum.h"

/* The fields have no gaps, so that every release finds them in the same place. */
static_assert(sizeof(struct handover_version) == 128 + 16 + 32 + 32 + 4 * 8 + 2 * 4 + 8 * 8 + 8 + 3 * 8 + 2 * 8 +
	      2 * 8 + 2 * 4 + 8 + 16, "no gaps");
static_assert(sizeof(struct handover_opened) <= HANDOVER_MAX && sizeof(struct handover_hits) <= HANDOVER_MAX,
	      "no message is longer");

void handover_begin(struct handover_head *head, enum handover_kind kind, size_t size)
{
	*head = (struct handover_head){
		.magic = HANDOVER_MAGIC,
		.protocol = HANDOVER_PROTOCOL,
		.earliest = HANDOVER_PROTOCOL,
		.kind = kind,
		.size = (uint32_t)size,
	};
}

void handover_refuse(struct handover_answer *answer, const struct error *why)
{
	answer->code = why->code;
	snprintf(answer->reason, sizeof(answer->reason), "%s", why->reason);
}

int handover_check(const void *message, size_t length, enum handover_kind kind, size_t size, struct error *err)
{
	struct handover_head head;

	if (length < sizeof(head))
		return error_set(err, -EPROTO, "a message of %zu bytes, expected at least %zu", length, sizeof(head));
	memcpy(&head, message, sizeof(head));
	if (head.magic != HANDOVER_MAGIC)
		return error_set(err, -EPROTO, "a message that begins with %#" PRIx32 ", expected %#x", head.magic,
				 HANDOVER_MAGIC);
	if (head.earliest > HANDOVER_PROTOCOL || head.protocol < HANDOVER_PROTOCOL)
		return error_set(err, -EPROTONOSUPPORT,
				 "the other side speaks protocols %u to %u, this release speaks %u", head.earliest,
				 head.protocol, HANDOVER_PROTOCOL);
	if (head.kind != kind)
		return error_set(err, -EPROTO, "a message of kind %" PRIu32 ", expected %d", head.kind, (int)kind);
	if (head.size != length || length < size)
		return error_set(err, -EPROTO,
				 "a message of %zu bytes that says it has %" PRIu32 ", expected at least %zu", length,
				 head.size, size);
	return 0;
}

/* Keeps a received reason on one line. */
static void handover_clean(char reason[HANDOVER_REASON])
{
	reason[HANDOVER_REASON - 1] = 0;
	for (char *at = reason; *at; at++)
		if ((unsigned char)*at < ' ' || *at == 0x7f)
			*at = '?';
}

int handover_check_answer(const void *message, size_t length, enum handover_kind kind, size_t size, struct error *err)
{
	struct handover_answer answer;
	int r = handover_check(message, length, kind, sizeof(answer), err);

	if (r < 0)
		return r;
	memcpy(&answer, message, sizeof(answer));
	handover_clean(answer.reason);
	if (answer.code < -4095 || answer.code > 0)
		return error_set(err, -EPROTO, "an answer with code %" PRId32 ", which is no errno", answer.code);
	if (answer.code < 0)
		return error_set(err, answer.code, "%s", answer.reason);
	return handover_check(message, length, kind, size, err);
}

/* ---- the record of a version ---- */

void handover_put_version(const struct version *version, const struct index *index, struct handover_version *ret)
{
	const struct index_shape *shape = &index->shape;
	struct extent sums = { 0 };

	if (!index->members.count) /* else the catalogue says where they are */
		sums = extent_list_at(&version->block_sums.extents, 0, version->block_sums.length);
	*ret = (struct handover_version){
		.sequence = version->sequence,
		.created = version->created,
		.feature_compat = version->feature_compat,
		.feature_incompat = version->feature_incompat,
		.chunk_log = version->chunk_log,
		.chunk_sum = shape->chunk_sum,
		.names_length = shape->names_length,
		.inode_count = shape->inode_count,
		.chunk_count = shape->chunk_count,
		.class_count = shape->class_count,
		.blob_length = shape->blob_length,
		.entry_count = shape->entry_count,
		.places_at = shape->places_at,
		.places_count = shape->places_count,
		.index_length = version->index.length,
		.file_count = version->file_count,
		.directory_count = version->directory_count,
		.symlink_count = version->symlink_count,
		.content_bytes = version->content_bytes,
		.stored_bytes = version->stored_bytes,
		.block_sums_address = sums.address,
		.block_sums_length = sums.length,
		.member_count = index->member_count,
		.member_size = index->member_sizes[0],
	};
	memcpy(ret->label, version->label, sizeof(ret->label));
	memcpy(ret->uuid, version->uuid, sizeof(ret->uuid));
	memcpy(ret->digest, version->digest, sizeof(ret->digest));
	memcpy(ret->block_sums_sha256, version->block_sums.sha256, sizeof(ret->block_sums_sha256));
}

void handover_put_wish(const struct version *version, const struct index *index, const uint8_t volume_uuid[16],
		       struct handover_borrow *ret)
{
	handover_put_version(version, index, &ret->version);
	ret->version.member_size = 0;
	memcpy(ret->version.volume_uuid, volume_uuid, sizeof(ret->version.volume_uuid));
	memcpy(ret->sha256, version->index.sha256, sizeof(ret->sha256));
}

static void handover_copy_version(const struct handover_version *from, struct version *ret)
{
	*ret = (struct version){
		.sequence = from->sequence,
		.created = from->created,
		.feature_compat = from->feature_compat,
		.feature_incompat = from->feature_incompat,
		.chunk_log = from->chunk_log,
		.shape = { .names_length = from->names_length, .inode_count = from->inode_count,
			   .chunk_count = from->chunk_count, .class_count = from->class_count,
			   .blob_length = from->blob_length, .entry_count = from->entry_count,
			   .chunk_sum = from->chunk_sum, .places_at = from->places_at,
			   .places_count = from->places_count },
		.index.length = from->index_length,
		.file_count = from->file_count,
		.directory_count = from->directory_count,
		.symlink_count = from->symlink_count,
		.content_bytes = from->content_bytes,
		.stored_bytes = from->stored_bytes,
		.block_sums.length = from->block_sums_length,
	};
	memcpy(ret->label, from->label, sizeof(ret->label));
	memcpy(ret->uuid, from->uuid, sizeof(ret->uuid));
	memcpy(ret->digest, from->digest, sizeof(ret->digest));
	memcpy(ret->block_sums.sha256, from->block_sums_sha256, sizeof(ret->block_sums.sha256));
}

static int handover_check_fields(const struct version *version, struct error *err)
{
	uint64_t unknown = version->feature_incompat & ~DSFS_VERSION_INCOMPAT_KNOWN;
	int r;

	if (unknown)
		return error_set(err, -EOPNOTSUPP,
				 "version '%s': unknown incompatible features %#" PRIx64 ", a newer release is needed",
				 version->label, unknown);
	r = sum_check_kind(version->shape.chunk_sum, version->label, err);
	if (r < 0)
		return r;
	if (version->sequence < 1 || version->sequence > DSFS_SEQUENCE_MAX)
		return error_set(err, -EPROTO, "version '%s': sequence %" PRIu64 ", expected 1 to %u", version->label,
				 version->sequence, DSFS_SEQUENCE_MAX);
	if (version->chunk_log < DSFS_CHUNK_LOG_MIN || version->chunk_log > DSFS_CHUNK_LOG_MAX)
		return error_set(err, -EPROTO, "version '%s': chunks of 2^%" PRIu32 " bytes, expected 2^%d to 2^%d",
				 version->label, version->chunk_log, DSFS_CHUNK_LOG_MIN, DSFS_CHUNK_LOG_MAX);
	return 0;
}

/* Checks that there is a root and that the parts fit the section. */
static int handover_check_index(const struct version *version, struct error *err)
{
	struct index_layout layout;
	int r = index_layout(&version->shape, &layout, err);

	if (r < 0)
		return error_wrap(err, -EPROTO, "version '%s'", version->label);
	if (!version->shape.inode_count || layout.length != version->index.length)
		return error_set(err, -EPROTO,
				 "version '%s': an index of %" PRIu64 " bytes with %" PRIu64
				 " inodes, its parts have %" PRIu64 " bytes",
				 version->label, version->index.length, version->shape.inode_count, layout.length);
	return 0;
}

/* Checks block checksums of a single member. With several members the catalogue says where they are. */
static int handover_check_block_sums(const struct handover_version *from, struct error *err)
{
	const struct extent sums = { from->block_sums_address, from->block_sums_length };

	if (sums.length && (from->member_count != 1 || address_member(sums.address) != 0 ||
			    address_offset(sums.address) > from->member_size ||
			    sums.length > from->member_size - address_offset(sums.address)))
		return error_set(err, -EPROTO, "version '%s': its block checksums lie outside of the volume",
				 from->label);
	return 0;
}

int handover_get_version(const struct handover_version *from, struct version *ret, struct error *err)
{
	struct version version;
	int r;

	if (!memchr(from->label, 0, sizeof(from->label)))
		return error_set(err, -EPROTO, "the label of the version has no NUL");
	if (version_check_label(from->label, NULL) < 0) /* its reason would show the label */
		return error_set(err, -EPROTO, "the label of the version is none that a version can have");
	handover_copy_version(from, &version);
	r = handover_check_fields(&version, err);
	if (r == 0)
		r = handover_check_index(&version, err);
	if (r == 0)
		r = handover_check_block_sums(from, err);
	if (r == 0 && version.block_sums.length)
		r = extent_list_add(&version.block_sums.extents, from->block_sums_address, version.block_sums.length,
				    err);
	if (r == 0)
		*ret = version;
	return r;
}
