/* SPDX-License-Identifier: MIT */
/* The superblock ring: encodes, checks, finds and writes slots. */
#include "image/members/superblock.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/direct.h"
#include "base/text/format.h"
#include "image/members/address.h"
#include "image/sums/checksum.h"

#define SUMMED (sizeof(struct dsfs_superblock) - sizeof(dsfs_le64))
#define SUPERBLOCK_LUKS "LUKS\xba\xbe" /* how a header of LUKS begins */

void superblock_encode(const struct superblock *super, struct dsfs_superblock *disk)
{
	memset(disk, 0, sizeof(*disk));
	memcpy(disk->magic, DSFS_MAGIC, sizeof(disk->magic));
	disk->format = dsfs_le32_of(DSFS_FORMAT);
	disk->segment_log = dsfs_le32_of(super->segment_log);
	disk->feature_compat = dsfs_le64_of(super->feature_compat);
	disk->feature_incompat = dsfs_le64_of(super->feature_incompat);
	memcpy(disk->volume_uuid, super->volume_uuid, sizeof(disk->volume_uuid));
	disk->sequence = dsfs_le64_of(super->sequence);
	disk->member_size = dsfs_le64_of(super->member_size);
	disk->member = dsfs_le32_of(super->member);
	disk->member_count = dsfs_le32_of(super->member_count);
	disk->catalogue.address = dsfs_le64_of(super->catalogue_address);
	disk->catalogue.length = dsfs_le64_of(super->catalogue_length);
	memcpy(disk->catalogue_sha256, super->catalogue_sha256, sizeof(disk->catalogue_sha256));
	memcpy(disk->identity, super->identity, strnlen(super->identity, sizeof(disk->identity)));
	memcpy(disk->member_uuid, super->member_uuid, sizeof(disk->member_uuid));
	disk->checksum = dsfs_le64_of(checksum_64(disk, SUMMED));
}

/* Checks the fields that decide whether any other field has a meaning. */
static int superblock_check_head(const struct dsfs_superblock *disk, struct error *err)
{
	uint64_t sum = checksum_64(disk, SUMMED);

	if (!memcmp(disk->magic, SUPERBLOCK_LUKS, sizeof(SUPERBLOCK_LUKS) - 1)) /* a mistake soon made */
		return error_set(err, -EBADMSG, "superblock: encrypted by LUKS and not open on this host: open it with "
				 "cryptsetup(8)");
	if (memcmp(disk->magic, DSFS_MAGIC, sizeof(disk->magic)) != 0)
		return error_set(err, -EBADMSG, "not a datasetfs volume: expected one that "
				 "mkdatasetfs made");
	if (dsfs_le64_get(disk->checksum) != sum)
		return error_set(err, -EBADMSG, "superblock: checksum %016" PRIx64 ", expected %016" PRIx64, sum,
				 dsfs_le64_get(disk->checksum));
	if (dsfs_le32_get(disk->format) != DSFS_FORMAT)
		return error_set(err, -EOPNOTSUPP, "superblock: format %" PRIu32 ", this release reads %d",
				 dsfs_le32_get(disk->format), DSFS_FORMAT);
	if (dsfs_le64_get(disk->feature_incompat) & ~DSFS_INCOMPAT_KNOWN)
		return error_set(err, -EOPNOTSUPP,
				 "superblock: unknown incompatible features %#" PRIx64 ", a newer release is needed",
				 dsfs_le64_get(disk->feature_incompat) & ~DSFS_INCOMPAT_KNOWN);
	return 0;
}

static int superblock_check_fields(const struct superblock *super, struct error *err)
{
	bool has_uuid = !bytes_are_zero(super->member_uuid, sizeof(super->member_uuid));
	bool has_members = super->feature_incompat & DSFS_INCOMPAT_MEMBERS;
	uint64_t offset = address_offset(super->catalogue_address);

	if (super->segment_log < DSFS_SEGMENT_LOG_MIN || super->segment_log > DSFS_SEGMENT_LOG_MAX)
		return error_set(err, -EBADMSG, "superblock: segment size 2^%" PRIu32 ", expected 2^%u to 2^%u",
				 super->segment_log, DSFS_SEGMENT_LOG_MIN, DSFS_SEGMENT_LOG_MAX);
	if (super->member_count > (has_members ? DSFS_MEMBER_MAX + 1 : 1) || super->member >= super->member_count)
		return error_set(err, -EBADMSG, "superblock: member %" PRIu32 " of %" PRIu32, super->member,
				 super->member_count);
	if (has_uuid != has_members)
		return error_set(err, -EBADMSG,
				 "superblock: the UUID of a member and the table of members go together");
	if (super->member_size % DSFS_BLOCK)
		return error_set(err, -EBADMSG, "superblock: volume of %" PRIu64 " bytes, expected a multiple of %u",
				 super->member_size, DSFS_BLOCK);
	if (super->sequence == 0)
		return error_set(err, -EBADMSG, "superblock: sequence 0, expected 1 or more");
	if (super->catalogue_length < sizeof(struct dsfs_catalogue) || super->catalogue_length > DSFS_CATALOGUE_MAX)
		return error_set(err, -EBADMSG, "superblock: catalogue of %" PRIu64 " bytes, expected %zu to %u",
				 super->catalogue_length, sizeof(struct dsfs_catalogue), DSFS_CATALOGUE_MAX);
	if (address_member(super->catalogue_address) != super->member || offset % DSFS_BLOCK ||
	    offset < DSFS_DATA_AT || super->member_size > DSFS_FILE_MAX || offset > super->member_size ||
	    super->catalogue_length > super->member_size - offset)
		return error_set(err, -EBADMSG,
				 "superblock: catalogue at %#" PRIx64 "+%" PRIu64 " is outside the volume of %" PRIu64
				 " bytes",
				 super->catalogue_address, super->catalogue_length, super->member_size);
	return 0;
}

int superblock_decode(const struct dsfs_superblock *disk, struct superblock *ret, struct error *err)
{
	struct superblock super = { 0 };
	int r;

	r = superblock_check_head(disk, err);
	if (r < 0)
		return r;
	super.feature_compat = dsfs_le64_get(disk->feature_compat);
	super.feature_incompat = dsfs_le64_get(disk->feature_incompat);
	memcpy(super.volume_uuid, disk->volume_uuid, sizeof(super.volume_uuid));
	super.sequence = dsfs_le64_get(disk->sequence);
	super.member_size = dsfs_le64_get(disk->member_size);
	super.member = dsfs_le32_get(disk->member);
	super.member_count = dsfs_le32_get(disk->member_count);
	super.segment_log = dsfs_le32_get(disk->segment_log);
	super.catalogue_address = dsfs_le64_get(disk->catalogue.address);
	super.catalogue_length = dsfs_le64_get(disk->catalogue.length);
	memcpy(super.catalogue_sha256, disk->catalogue_sha256, sizeof(super.catalogue_sha256));
	memcpy(super.identity, disk->identity, sizeof(disk->identity));
	memcpy(super.member_uuid, disk->member_uuid, sizeof(super.member_uuid));
	r = superblock_check_fields(&super, err);
	if (r < 0)
		return r;
	*ret = super;
	return 0;
}

/* --- the ring --- */

#define RING_BATCH 8u /* members whose rings are read at once */

static int reason_weight(const struct error *reason)
{
	if (reason->code == -EOPNOTSUPP)
		return 4;
	if (reason->code != -EBADMSG)
		return reason->code ? 3 : 0;
	return strstr(reason->reason, "not a datasetfs") ? 1 : 2;
}

int superblock_decode_slot(const struct dsfs_superblock *disk, uint32_t slot, struct superblock *ret,
			   struct error *err)
{
	int r = superblock_decode(disk, ret, err);

	if (r == 0 && ret->sequence % DSFS_SLOT_COUNT != slot)
		r = error_set(err, -EBADMSG, "superblock: slot %" PRIu32 " holds sequence %" PRIu64, slot,
			      ret->sequence);
	return r;
}

static void ring_miss(struct superblock_ring *ring, uint32_t slot, const struct error *unread)
{
	ring->lost |= 1u << slot;
	ring->unread = *unread;
	if (reason_weight(unread) > reason_weight(&ring->reason))
		ring->reason = *unread;
}

/* Takes a slot into the ring. Reads a damaged one again, because a publisher may be writing it. */
static void ring_take(struct source *source, struct source_part *part, uint32_t slot, struct superblock_ring *ring)
{
	struct dsfs_superblock *disk = part->buffer;
	struct superblock super;
	struct error why = { 0 };
	bool damaged = false;
	int r;

	if (part->err.code) {
		ring_miss(ring, slot, &part->err);
		return;
	}
	r = superblock_decode_slot(disk, slot, &super, &why);
	if (r == -EBADMSG && !bytes_are_zero(disk, sizeof(*disk))) {
		if (source_read(source, part->member, part->offset, disk, sizeof(*disk), &part->err) < 0) {
			ring_miss(ring, slot, &part->err);
			return;
		}
		r = superblock_decode_slot(disk, slot, &super, &why);
		damaged = r == -EBADMSG;
	}
	if (damaged)
		ring->lost |= 1u << slot;
	if (r == 0 && super.sequence > ring->best.sequence)
		ring->best = super;
	if (r == -EOPNOTSUPP && dsfs_le64_get(disk->sequence) > ring->unsupported)
		ring->unsupported = dsfs_le64_get(disk->sequence);
	if (r < 0 && reason_weight(&why) > reason_weight(&ring->reason))
		ring->reason = why;
}

/* Reads the rings that the list names. */
static void superblock_read_batch(struct source *source, uint32_t first, struct superblock_ring *rings,
				  const uint32_t *list, uint32_t count)
{
	auto_free struct dsfs_superblock *disks = aligned_alloc(DSFS_BLOCK, sizeof(*disks) * count * DSFS_SLOT_COUNT);
	auto_free struct source_part *parts = calloc((size_t)count * DSFS_SLOT_COUNT, sizeof(*parts));
	struct error why = { 0 };

	for (uint32_t i = 0; disks && parts && i < count * DSFS_SLOT_COUNT; i++)
		parts[i] = superblock_part(first + list[i / DSFS_SLOT_COUNT], i % DSFS_SLOT_COUNT, &disks[i]);
	if (disks && parts)
		source_read_parts(source, parts, (size_t)count * DSFS_SLOT_COUNT);
	else
		error_no_memory(&why);
	for (uint32_t i = 0; i < count * DSFS_SLOT_COUNT; i++) {
		struct superblock_ring *ring = &rings[list[i / DSFS_SLOT_COUNT]];

		if (why.code)
			ring_miss(ring, i % DSFS_SLOT_COUNT, &why);
		else
			ring_take(source, &parts[i], i % DSFS_SLOT_COUNT, ring);
	}
	for (uint32_t i = 0; i < count; i++) /* afterwards, because a file may have grown meanwhile */
		rings[list[i]].size = source_size(source, first + list[i]);
}

/* Finds out why a member of size 0 cannot be read. An empty file is described when it is looked at. */
static void superblock_miss(struct source *source, uint32_t member, struct superblock_ring *ring)
{
	struct dsfs_superblock disk __attribute__((aligned(DIRECT_ALIGN)));

	*ring = (struct superblock_ring){ .is_read = false };
	if (source_read(source, member, 0, &disk, sizeof(disk), &ring->reason) == -ENODATA)
		ring->reason.code = 0;
}

void superblock_read_rings(struct source *source, uint32_t first, struct superblock_ring *rings, uint32_t count)
{
	uint32_t list[RING_BATCH], wanted = 0;

	for (uint32_t i = 0; i < count; i++) {
		if (!rings[i].is_read && source_size(source, first + i)) {
			rings[i] = (struct superblock_ring){ .is_read = true };
			list[wanted++] = i;
		} else if (!rings[i].is_read && first + i < source->count) {
			superblock_miss(source, first + i, &rings[i]);
		}
		if (wanted == RING_BATCH || (wanted && i + 1 == count)) {
			superblock_read_batch(source, first, rings, list, wanted);
			wanted = 0;
		}
	}
}

int superblock_of_ring(const struct superblock_ring *ring, struct superblock *ret, struct error *err)
{
	if (!ring->is_read && ring->reason.code)
		return error_pass(err, ring->reason.code, &ring->reason);
	if (ring->size < DSFS_DATA_AT)
		return error_set(err, -EBADMSG, "not a datasetfs volume: it has only %" PRIu64 " bytes", ring->size);
	if (ring->best.sequence == 0 || ring->unsupported > ring->best.sequence)
		return error_pass(err, ring->reason.code, &ring->reason);
	if (ring->size < ring->best.member_size)
		return error_set(err, -EBADMSG,
				 "superblock: the volume is truncated, or this host does not see yet that it has "
				 "grown: %" PRIu64 " bytes, expected %" PRIu64, ring->size, ring->best.member_size);
	*ret = ring->best;
	ret->next_is_lost = ring->lost >> (ring->best.sequence + 1) % DSFS_SLOT_COUNT & 1;
	return 0;
}

int superblock_find(struct source *source, uint32_t member, struct superblock *ret, struct error *err)
{
	struct superblock_ring ring = { 0 };

	superblock_read_rings(source, member, &ring, 1);
	return superblock_of_ring(&ring, ret, err);
}

bool superblock_may_be_stale(const struct superblock *super, struct error *ret)
{
	if (super->next_is_lost)
		error_set(ret, -EBADMSG,
			  "superblock slot %" PRIu64
			  " is damaged or cannot be read and may have been the newest, going on "
			  "from sequence %" PRIu64,
			  (super->sequence + 1) % DSFS_SLOT_COUNT, super->sequence);
	return super->next_is_lost;
}

int superblock_check_volume(const struct superblock *super, const uint8_t volume[16], struct error *err)
{
	char found[UUID_TEXT_SIZE], expected[UUID_TEXT_SIZE];

	if (!memcmp(super->volume_uuid, volume, sizeof(super->volume_uuid)))
		return 0;
	format_uuid(super->volume_uuid, found);
	format_uuid(volume, expected);
	return error_set(err, -ESTALE, "the volume was reformatted: its UUID is %s, expected %s", found, expected);
}

int superblock_check_seen(const struct superblock *super, uint64_t seen, struct error *err)
{
	if (super->sequence >= seen)
		return 0;
	return error_set(err, -ESTALE,
			 "superblock %" PRIu64 " is the newest that can be read, but %" PRIu64
			 " was seen before: try again, or mount again if the volume was restored",
			 super->sequence, seen);
}

int superblock_check_newest(const struct superblock_ring *ring, uint64_t sequence, struct error *err)
{
	if (ring->unread.code)
		return error_set(err, ring->unread.code, "a superblock slot that may be the newest cannot be read: %s",
				 ring->unread.reason);
	if (ring->best.sequence != sequence)
		return error_set(err, -ESTALE,
				 "superblock %" PRIu64 " is the newest, but %" PRIu64 " was found before, try again",
				 ring->best.sequence, sequence);
	return 0;
}

int superblock_write(struct source *source, const struct superblock *super, struct error *err)
{
	struct dsfs_superblock disk __attribute__((aligned(DIRECT_ALIGN)));

	superblock_encode(super, &disk);
	return source_write(source, super->member, super->sequence % DSFS_SLOT_COUNT * DSFS_SLOT_SPACING, &disk,
			    sizeof(disk), err);
}

/* Slots past the end do not exist; a slot that cannot be read for another reason may be the only one of ours. */
int superblock_seen(struct source *source, uint32_t member, bool *ret, struct error *err)
{
	struct dsfs_superblock disk __attribute__((aligned(DIRECT_ALIGN)));
	uint64_t size = source_size(source, member);
	struct error unread = { 0 };
	bool seen = false;

	for (uint32_t slot = 0; slot < DSFS_SLOT_COUNT && !seen; slot++) {
		if ((uint64_t)slot * DSFS_SLOT_SPACING + sizeof(disk) > size)
			break;
		if (source_read(source, member, (uint64_t)slot * DSFS_SLOT_SPACING, &disk, sizeof(disk), &unread) == 0)
			seen = !memcmp(disk.magic, DSFS_MAGIC, sizeof(disk.magic));
	}
	if (!seen && unread.code == -EINTR)
		return error_pass(err, unread.code, &unread);
	if (!seen && unread.code)
		return error_set(err, unread.code, "a superblock slot cannot be read, so a volume may lie there: %s",
				 unread.reason);
	*ret = seen;
	return 0;
}
