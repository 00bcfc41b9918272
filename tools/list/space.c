/* SPDX-License-Identifier: MIT */
/* Counts segments. A segment is used if a version lists it, if it is a copy of one that a version lists, or if a
 * catalogue lies in it. */
#include "list/space.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/round.h"
#include "image/members/address.h"
#include "volume/space/space.h"

uint64_t list_space_bytes(const struct list_space *space, const struct list_member *member, uint64_t from, uint64_t to)
{
	uint64_t end = to * space->segment_size;

	return (end < member->size ? end : member->size) - from * space->segment_size;
}

/* --- shares of versions --- */

static void list_space_add_group(const struct volume *volume, uint64_t address, uint64_t bytes,
				 struct list_share *share)
{
	const struct member_group *group = members_group(&volume->catalogue.members, address);

	share->filled += group ? group->tail : 0;
	if (!group || !group->redundant)
		return;
	share->mirrored += bytes;
	share->filled_mirrored += group->tail;
}

/* Adds the bytes of all segments that a version lists to its share. */
static void list_space_add_version(const struct volume *volume, const struct list_space *space,
				   const struct version *version, struct list_share *share)
{
	for (uint32_t i = 0; i < version->segments.count; i++) {
		uint64_t address = version->segments.items[i].address;
		uint64_t length = version->segments.items[i].length;
		const struct list_member *member = &space->members[address_member(address)];

		for (uint64_t at = 0; at < length; at += space->segment_size) {
			uint64_t from = (address_offset(address) + at) / space->segment_size;
			uint64_t bytes = from < member->total ? list_space_bytes(space, member, from, from + 1) : 0;

			share->shared += bytes;
			list_space_add_group(volume, address + at, bytes, share);
		}
	}
}

/* Counts used segments, and moves bytes that only one version uses from its shared to its unique ones. */
static void list_space_add_pins(struct list_space *space, struct list_member *member)
{
	struct pins_run run;

	while (pins_next(&member->pins, &run)) {
		uint64_t bytes = list_space_bytes(space, member, run.from, run.to);

		if (run.users || run.catalogue)
			member->used += run.to - run.from;
		if (run.users != 1)
			continue;
		space->shares[run.only].unique += bytes;
		space->shares[run.only].shared -= bytes;
	}
}

/* --- members --- */

/* Returns the size of a member, for a device that has grown the size of the volume on it; adds the rest to *grown. */
static uint64_t list_space_size(const struct volume *volume, uint32_t number, const struct superblock *super,
				uint64_t *grown)
{
	uint64_t size = source_size(&volume->array->source, number);

	if (!volume->array->geometry[number].is_block_device || size <= super->member_size)
		return size;
	*grown += size - super->member_size;
	return super->member_size;
}

/* Fills in a missing member from the catalogue's table of members. */
static void list_space_guess(const struct volume *volume, uint32_t number, struct list_member *member)
{
	const struct member *known = &volume->catalogue.members.list[number];

	member->super.member_size = member->size = known->size;
	member->super.catalogue_length = 0;
	memcpy(member->super.member_uuid, known->uuid, sizeof(known->uuid));
	memcpy(member->super.identity, known->identity, sizeof(known->identity));
}

static int list_space_open_member(const struct volume *volume, struct list_space *space, uint32_t number,
				  struct error *err)
{
	struct list_member *member = &space->members[number];
	int r = 0;

	member->super = volume->super;
	if (volume->names[number]) {
		r = superblock_of_ring(&volume->rings[number], &member->super, err);
		member->size = list_space_size(volume, number, &member->super, &space->grown);
	} else {
		list_space_guess(volume, number, member);
	}
	if (r < 0)
		return r;
	member->total = round_up(member->size, space->segment_size) / space->segment_size;
	return pins_open(&volume->catalogue, &member->super, number, member->total, &member->pins, err);
}

static void list_space_add_copies(const struct members *members, struct list_space *space)
{
	for (uint32_t g = 0; g < members->group_count; g++)
		for (uint32_t i = 1; i <= members->groups[g].redundant; i++) {
			uint64_t column = members->columns[members->groups[g].first_column + i];

			space->members[address_member(column)].used++;
			space->has_copies = true;
		}
}

static int list_space_measure_members(const struct volume *volume, struct list_space *space, struct error *err)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < space->member_count; i++)
		r = list_space_open_member(volume, space, i, err);
	if (r < 0)
		return r;
	for (uint32_t v = 0; v < volume->catalogue.version_count; v++)
		list_space_add_version(volume, space, &volume->catalogue.versions[v], &space->shares[v]);
	list_space_add_copies(&volume->catalogue.members, space);
	for (uint32_t i = 0; i < space->member_count; i++) {
		list_space_add_pins(space, &space->members[i]);
		space->size += space->members[i].size;
		space->total += space->members[i].total;
		space->used += space->members[i].used;
	}
	return 0;
}

/* --- free space --- */

/* Returns the bytes of free segments and of the unfilled ends of groups. */
static uint64_t list_space_free_of_members(const struct volume *volume, const struct list_space *space)
{
	const struct members *members = &volume->catalogue.members;
	uint64_t bytes = (space->total - space->used) * space->segment_size;

	for (uint32_t g = 0; g < members->group_count; g++)
		bytes += space->segment_size - members->groups[g].tail;
	return bytes;
}

/* Measures the space for the next publish, which includes the rest of the last publish's segment, although that counts
 * as used. */
static int list_space_measure_free(const struct volume *volume, struct list_space *space, struct error *err)
{
	uint64_t file_size = volume->array->geometry->is_block_device ? 0 : space->size;
	struct space found;
	int r;

	if (volume->catalogue.members.count) {
		space->free_bytes = list_space_free_of_members(volume, space);
		return 0;
	}
	r = space_open_inside(&found, &volume->catalogue, &volume->super, file_size, err);
	if (r == 0)
		space->free_bytes = space_free(&found);
	space_close(&found);
	return r;
}

int list_space_measure(const struct volume *volume, struct list_space *space, struct error *err)
{
	uint32_t versions = volume->catalogue.version_count;
	int r;

	space->segment_size = UINT64_C(1) << volume->super.segment_log;
	space->shares = calloc((size_t)versions + 1, sizeof(*space->shares));
	space->members = calloc(volume->super.member_count, sizeof(*space->members));
	if (!space->shares || !space->members)
		return error_no_memory(err);
	space->member_count = volume->super.member_count;
	r = list_space_measure_members(volume, space, err);
	return r < 0 ? r : list_space_measure_free(volume, space, err);
}

void list_space_free(struct list_space *space)
{
	for (uint32_t i = 0; i < space->member_count; i++)
		pins_close(&space->members[i].pins);
	free(space->members);
	free(space->shares);
}
