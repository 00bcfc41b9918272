/* SPDX-License-Identifier: MIT */
/* Reads from any copy that can be read. */
#include "image/members/backing.h"

#include <errno.h>

#include "image/members/address.h"

struct backing backing_of(struct source *source, const struct members *members)
{
	return (struct backing){ source, members, source_size(source, 0) };
}

uint64_t backing_size(struct backing backing, uint32_t member)
{
	if (backing.members && backing.members->count)
		return members_size(backing.members, member);
	return member == 0 ? backing.size : 0;
}

uint32_t backing_copies(struct backing backing, uint64_t address, uint64_t ret[DSFS_COPIES_MAX])
{
	ret[0] = address;
	return backing.members ? members_copies(backing.members, address, ret) : 1;
}

int backing_read(struct backing backing, uint64_t address, uint32_t turn, void *to, uint64_t length, struct error *err)
{
	uint64_t copies[DSFS_COPIES_MAX], at;
	uint32_t count = backing_copies(backing, address, copies);
	int r = -ENODEV;

	for (uint32_t i = 0; r < 0 && i < count; i++) {
		at = copies[(turn + i) % count];
		r = source_read(backing.source, address_member(at), address_offset(at), to, length, err);
	}
	return r;
}
