/* SPDX-License-Identifier: MIT */
/* Reads bytes from a copy, or from all copies to compare them. */
#include "verify/copies.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "image/members/address.h"

#define COPIES_STEP (64u << 10)

static int copies_read(struct source *source, uint32_t member, uint64_t offset, void *buffer, size_t length,
		       struct error *err)
{
	const struct copies_source *copies = (const struct copies_source *)source;
	uint64_t places[DSFS_COPIES_MAX], at;
	uint32_t count = members_copies(copies->members, address_make(member, offset), places);

	at = places[copies->copy < count ? copies->copy : 0];
	return source_read(copies->below, address_member(at), address_offset(at), buffer, length, err);
}

static uint64_t copies_size(struct source *source, uint32_t member)
{
	return source_size(((const struct copies_source *)source)->below, member);
}

static const struct source_ops copies_ops = { .read = copies_read, .size = copies_size };

void copies_source_init(struct copies_source *copies, struct source *below, const struct members *members,
			uint32_t copy)
{
	*copies = (struct copies_source){ .source.ops = &copies_ops, .below = below, .members = members,
					  .copy = copy };
}

static int copies_compare_step(struct source *source, const struct members *members, uint64_t address,
			       uint64_t length, uint8_t *buffer, struct error *err)
{
	uint64_t places[DSFS_COPIES_MAX];
	uint32_t count = members_copies(members, address, places);
	uint8_t *other = buffer + COPIES_STEP;
	int r = 0;

	for (uint32_t i = 0; count > 1 && r == 0 && i < count; i++) {
		r = source_read(source, address_member(places[i]), address_offset(places[i]), i ? other : buffer,
				length, err);
		if (r == 0 && i && memcmp(buffer, other, length) != 0)
			r = error_set(err, -EBADMSG,
				      "its copies differ: member=%" PRIu32 " offset=%" PRIu64 " and member=%" PRIu32
				      " offset=%" PRIu64,
				      address_member(address), address_offset(address), address_member(places[i]),
				      address_offset(places[i]));
	}
	return r;
}

int copies_compare(struct source *source, const struct members *members, const struct extent_list *extents,
		   struct error *err)
{
	auto_free uint8_t *buffer = aligned_alloc(DSFS_BLOCK, 2 * COPIES_STEP);
	uint64_t step;
	int r = buffer ? 0 : error_no_memory(err);

	for (uint32_t i = 0; i < extents->count; i++)
		for (uint64_t at = 0; r == 0 && at < extents->items[i].length; at += step) {
			step = extents->items[i].length - at < COPIES_STEP ? extents->items[i].length - at :
									     COPIES_STEP;
			r = copies_compare_step(source, members, extents->items[i].address + at, step, buffer, err);
		}
	return r;
}
