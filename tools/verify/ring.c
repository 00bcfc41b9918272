/* SPDX-License-Identifier: MIT */
/* Checks the superblock slots and the publisher record, which lie at fixed places. */
#include "verify/ring.h"

#include <errno.h>
#include <inttypes.h>

#include "base/bytes.h"
#include "base/direct.h"
#include "image/members/publisher.h"
#include "image/members/superblock.h"

static int ring_slot_once(struct source *source, uint32_t member, uint32_t slot, bool *ret_empty,
			    struct error *err)
{
	struct dsfs_superblock disk __attribute__((aligned(DIRECT_ALIGN)));
	struct superblock super = { 0 };
	int r;

	r = source_read(source, member, (uint64_t)slot * DSFS_SLOT_SPACING, &disk, sizeof(disk), err);
	if (r < 0)
		return r;
	*ret_empty = bytes_are_zero(&disk, sizeof(disk));
	if (*ret_empty)
		return 0;
	r = superblock_decode(&disk, &super, err);
	if (r == 0 && super.sequence % DSFS_SLOT_COUNT != slot)
		r = error_set(err, -EBADMSG, "superblock: sequence %" PRIu64 " belongs to slot %" PRIu64,
			      super.sequence, super.sequence % DSFS_SLOT_COUNT);
	return r;
}

static int ring_publisher_once(struct source *source, uint32_t member, uint32_t unused, bool *ret_empty,
				 struct error *err)
{
	uint8_t disk[sizeof(struct dsfs_publisher)] __attribute__((aligned(DIRECT_ALIGN)));
	uint64_t process, since;
	char host[257];
	int r;

	(void)unused;
	r = source_read(source, member, DSFS_PUBLISHER_AT, disk, sizeof(disk), err);
	if (r < 0)
		return r;
	*ret_empty = bytes_are_zero(disk, sizeof(disk));
	if (!*ret_empty && !publisher_read(source, member, host, &process, &since))
		return error_set(err, -EBADMSG, "publisher record: neither empty nor valid");
	return 0;
}

static int ring_twice(ring_check *once, struct source *source, uint32_t member, uint32_t slot, bool *ret_empty,
		      struct error *err)
{
	*ret_empty = false;
	if (once(source, member, slot, ret_empty, NULL) == 0)
		return 0;
	return once(source, member, slot, ret_empty, err);
}

int ring_check_slot(struct source *source, uint32_t member, uint32_t slot, bool *ret_empty, struct error *err)
{
	return ring_twice(ring_slot_once, source, member, slot, ret_empty, err);
}

int ring_check_publisher(struct source *source, uint32_t member, uint32_t slot, bool *ret_empty, struct error *err)
{
	return ring_twice(ring_publisher_once, source, member, slot, ret_empty, err);
}
