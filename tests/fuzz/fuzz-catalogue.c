/* SPDX-License-Identifier: MIT */
/* A catalogue's bytes, of a volume of one member and of one with a table of members; what decodes must encode to
 * something that decodes to the same, and what it says can be used. */
#include <stdlib.h>

#include "fuzz/fuzz.h"
#include "image/catalogue/catalogue.h"
#include "image/members/address.h"

static const struct superblock one = {
	.sequence = 1, .member_size = 64u << 20, .member_count = 1, .segment_log = 24
};
static const struct superblock multi_member = {
	.sequence = 9, .member_size = 64u << 20, .member_count = 3, .segment_log = 20, .member_uuid = { 1 },
	.feature_incompat = DSFS_INCOMPAT_MEMBERS, .catalogue_address = DSFS_DATA_AT, .catalogue_length = 4096
};

static void use_copies(const struct members *members, uint64_t address)
{
	uint64_t copies[DSFS_COPIES_MAX];
	uint32_t count = members_copies(members, address, copies);

	for (uint32_t i = 0; i < count; i++)
		if (address_offset(copies[i]) >= members_size(members, address_member(copies[i])) ||
		    members_group(members, copies[i]) != members_group(members, address))
			__builtin_trap();
}

static void use_extents(const struct members *members, const struct extent_list *list)
{
	for (uint32_t i = 0; members->count && i < list->count; i++) {
		if (!members_in_column(members, list->items[i].address, list->items[i].length))
			__builtin_trap();
		use_copies(members, list->items[i].address + list->items[i].length - 1);
	}
}

static void use_catalogue(const struct catalogue *catalogue)
{
	for (uint32_t i = 0; i < catalogue->version_count; i++) {
		const struct version *version = &catalogue->versions[i];

		use_extents(&catalogue->members, &version->index.extents);
		use_extents(&catalogue->members, &version->source.extents);
		use_extents(&catalogue->members, &version->block_sums.extents);
	}
}

static void decode(const struct superblock *super, const uint8_t *bytes, size_t length)
{
	struct catalogue catalogue = { 0 }, again = { 0 };
	uint8_t *encoded;
	uint64_t size;

	if (catalogue_decode(bytes, length, super, &catalogue, NULL) < 0)
		return;
	use_catalogue(&catalogue);
	if (catalogue_encode(&catalogue, &encoded, &size, NULL) < 0 ||
	    catalogue_decode(encoded, size, super, &again, NULL) < 0 || again.current != catalogue.current ||
	    again.version_count != catalogue.version_count || again.members.count != catalogue.members.count ||
	    again.members.column_count != catalogue.members.column_count)
		__builtin_trap();
	free(encoded);
	catalogue_free(&again);
	catalogue_free(&catalogue);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	decode(&one, bytes, length);
	decode(&multi_member, bytes, length);
	return 0;
}
