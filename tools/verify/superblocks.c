/* SPDX-License-Identifier: MIT */
/* Checks the superblock slots and the publisher record, which lie at fixed places. */
#include "verify/superblocks.h"

#include <errno.h>
#include <inttypes.h>

#include "base/bytes.h"
#include "base/direct.h"
#include "image/members/publisher.h"
#include "image/members/superblock.h"

static int superblocks_slot_decode(const struct dsfs_superblock *disk, uint32_t slot, struct superblocks_found *found)
{
	struct superblock super;

	found->is_empty = bytes_are_zero(disk, sizeof(*disk));
	if (found->is_empty)
		return 0;
	return superblock_decode_slot(disk, slot, &super, &found->err);
}

static void superblocks_read_slot(struct source *source, uint32_t member, uint32_t slot, struct superblocks_found *ret)
{
	struct dsfs_superblock disk __attribute__((aligned(DIRECT_ALIGN)));

	*ret = (struct superblocks_found){ 0 };
	ret->result = source_read(source, member, (uint64_t)slot * DSFS_SLOT_SPACING, &disk, sizeof(disk), &ret->err);
	if (ret->result == 0)
		ret->result = superblocks_slot_decode(&disk, slot, ret);
}

void superblocks_check_slot(struct source *source, uint32_t member, uint32_t slot, struct superblocks_found *ret)
{
	superblocks_read_slot(source, member, slot, ret);
	if (ret->result < 0)
		superblocks_read_slot(source, member, slot, ret);
}

void superblocks_check_slots(struct source *source, uint32_t member, struct superblocks_found found[DSFS_SLOT_COUNT])
{
	struct dsfs_superblock disks[DSFS_SLOT_COUNT] __attribute__((aligned(DIRECT_ALIGN)));
	struct source_part parts[DSFS_SLOT_COUNT];

	for (uint32_t i = 0; i < DSFS_SLOT_COUNT; i++)
		parts[i] = superblock_part(member, i, &disks[i]);
	source_read_parts(source, parts, DSFS_SLOT_COUNT);
	for (uint32_t i = 0; i < DSFS_SLOT_COUNT; i++) {
		found[i] = (struct superblocks_found){ .result = parts[i].err.code };
		if (found[i].result < 0 || superblocks_slot_decode(&disks[i], i, &found[i]) < 0)
			superblocks_read_slot(source, member, i, &found[i]);
	}
}

static int superblocks_publisher_once(struct source *source, uint32_t member, struct superblocks_found *found)
{
	uint8_t disk[sizeof(struct dsfs_publisher)] __attribute__((aligned(DIRECT_ALIGN)));
	uint64_t process, since;
	char host[257];
	int r;

	*found = (struct superblocks_found){ 0 };
	r = source_read(source, member, DSFS_PUBLISHER_AT, disk, sizeof(disk), &found->err);
	if (r < 0)
		return r;
	found->is_empty = bytes_are_zero(disk, sizeof(disk));
	if (!found->is_empty && !publisher_read(source, member, host, &process, &since))
		return error_set(&found->err, -EBADMSG, "publisher record: neither empty nor valid");
	return 0;
}

void superblocks_check_publisher(struct source *source, uint32_t member, struct superblocks_found *ret)
{
	ret->result = superblocks_publisher_once(source, member, ret);
	if (ret->result < 0)
		ret->result = superblocks_publisher_once(source, member, ret);
}
