/* SPDX-License-Identifier: MIT */
/* The superblock ring: encodes and checks slots, and finds the one in force. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/source.h"
#include "datasetfs/format.h"

struct superblock {
	uint64_t feature_compat, feature_incompat; /* DSFS_COMPAT_*, DSFS_INCOMPAT_*; compat also with unknown bits */
	uint8_t volume_uuid[16];
	uint64_t sequence;
	uint64_t member_size;
	uint32_t member, member_count;
	uint8_t member_uuid[16]; /* zero without DSFS_INCOMPAT_MEMBERS */
	uint32_t segment_log;
	uint64_t catalogue_address, catalogue_length;
	uint8_t catalogue_sha256[32];
	char identity[129]; /* NUL-terminated */
	bool next_is_lost;  /* not on the volume, see superblock_may_be_stale() */
};

/* The contents of a member's ring. */
struct superblock_ring {
	bool is_read;
	uint64_t size;          /* of the member, once the ring was read */
	struct superblock best; /* sequence 0: no slot is valid */
	uint64_t unsupported;   /* highest sequence of a slot that only a newer release can read */
	struct error reason;    /* the most telling reason of the invalid slots; if not read: why */
	struct error unread;    /* why a slot could not be read; code 0: all could */
	uint32_t lost;          /* bit n: slot n is neither empty nor valid, or cannot be read */
};

#define SUPERBLOCK_RINGS (DSFS_MEMBER_MAX + 1)

void superblock_encode(const struct superblock *super, struct dsfs_superblock *disk);
/* Decodes a slot. -EBADMSG: damaged or not a slot; -EOPNOTSUPP: a newer format or unknown incompatible features. */
must_check int superblock_decode(const struct dsfs_superblock *disk, struct superblock *ret, struct error *err);
/* Decodes a slot, and checks that its sequence belongs there. */
must_check int superblock_decode_slot(const struct dsfs_superblock *disk, uint32_t slot, struct superblock *ret,
				      struct error *err);

/* Returns the read of a slot into disk. */
static inline struct source_part superblock_part(uint32_t member, uint32_t slot, struct dsfs_superblock *disk)
{
	return (struct source_part){ .member = member, .offset = (uint64_t)slot * DSFS_SLOT_SPACING, .buffer = disk,
				     .length = sizeof(*disk) };
}

/* Reads the rings of count members, from number `first` on, except those that were read already; reads all slots in
 * parallel. A member of size 0 has no ring. */
void superblock_read_rings(struct source *source, uint32_t first, struct superblock_ring *rings, uint32_t count);
/* Returns the valid slot with the highest sequence. -EBADMSG with the reason if there is none; -EOPNOTSUPP if this
 * release cannot read the newest. */
must_check int superblock_of_ring(const struct superblock_ring *ring, struct superblock *ret, struct error *err);
/* Reads a member's ring and returns its valid slot with the highest sequence. */
must_check int superblock_find(struct source *source, uint32_t member, struct superblock *ret, struct error *err);
/* True, with the reason, if the slot after super's is neither empty nor valid. An interrupted publisher leaves such a
 * slot, but so does damage to the newest slot, and then a state was lost. A caller that continues from super reports
 * it. */
bool superblock_may_be_stale(const struct superblock *super, struct error *ret);
/* Checks that the superblock is of the volume with this UUID, for a mount of it. -ESTALE: it is of another one. */
must_check int superblock_check_volume(const struct superblock *super, const uint8_t volume[16], struct error *err);
/* Checks that the superblock is not older than the sequence that a mount has seen. -ESTALE: it is, as where the newest
 * slot is unreadable. */
must_check int superblock_check_seen(const struct superblock *super, uint64_t seen, struct error *err);
/* Must be called before the volume is changed, with a ring that was read under its lock: superblock_of_ring() skips
 * unreadable slots, and a change of an older state would undo the newest one. -ESTALE if sequence is not the newest. */
must_check int superblock_check_newest(const struct superblock_ring *ring, uint64_t sequence, struct error *err);
/* Writes the slot that belongs to super->sequence, on super->member; does not flush. */
must_check int superblock_write(struct source *source, const struct superblock *super, struct error *err);

/* Sets *ret if a slot carries our magic, valid or not: the volume is ours, however damaged. -errno if no readable slot
 * does and one cannot be read. */
must_check int superblock_seen(struct source *source, uint32_t member, bool *ret, struct error *err);
