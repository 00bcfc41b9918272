/* SPDX-License-Identifier: MIT */
/* Goes up from a section by its record and the catalogue to the superblock. */
#include "format/reseal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "image/members/address.h"
#include "image/sums/sha256.h"

static int reseal_read(struct source *source, uint64_t address, uint64_t length, uint8_t **ret, struct error *err)
{
	auto_free uint8_t *bytes = malloc(length);
	int r = bytes ? source_read(source, address_member(address), address_offset(address), bytes, length, err) :
			error_no_memory(err);

	if (r == 0)
		*ret = take_ptr(&bytes);
	return r;
}

static int reseal_section(struct source *source, struct version_section *section, uint64_t length, struct error *err)
{
	auto_free uint8_t *bytes = NULL;
	int r;

	if (section->extents.count != 1)
		return error_set(err, -EINVAL, "a section in %u pieces, expected 1", section->extents.count);
	r = reseal_read(source, section->extents.items[0].address, length, &bytes, err);
	return r < 0 ? r : sha256_of(bytes, length, section->sha256, err);
}

int reseal_index(struct source *source, struct version *version, struct error *err)
{
	return reseal_section(source, &version->index, version->index.length, err);
}

int reseal_head(struct source *source, struct version *version, uint64_t length, struct error *err)
{
	return reseal_section(source, &version->block_sums, length, err);
}

/* Gives another member the same catalogue, at the place of its own. */
static int reseal_member(struct source *source, const struct superblock *super, const uint8_t *bytes, uint32_t member,
			 struct error *err)
{
	struct superblock other;
	int r;

	if (superblock_find(source, member, &other, NULL) < 0 || other.sequence != super->sequence)
		return 0; /* it is stale */
	other.catalogue_length = super->catalogue_length;
	memcpy(other.catalogue_sha256, super->catalogue_sha256, sizeof(other.catalogue_sha256));
	r = source_write(source, member, address_offset(other.catalogue_address), bytes, super->catalogue_length, err);
	return r < 0 ? r : superblock_write(source, &other, err);
}

int reseal_superblock(struct source *source, struct superblock *super, struct error *err)
{
	auto_free uint8_t *bytes = NULL;
	int r = reseal_read(source, super->catalogue_address, super->catalogue_length, &bytes, err);

	if (r == 0)
		r = sha256_of(bytes, super->catalogue_length, super->catalogue_sha256, err);
	if (r == 0)
		r = superblock_write(source, super, err);
	for (uint32_t i = 0; r == 0 && i < super->member_count; i++)
		if (i != super->member)
			r = reseal_member(source, super, bytes, i, err);
	return r;
}

int reseal_catalogue(struct source *source, struct superblock *super, const struct catalogue *catalogue,
		     struct error *err)
{
	auto_free uint8_t *bytes = NULL;
	uint64_t length;
	int r = catalogue_encode(catalogue, &bytes, &length, err);

	if (r < 0)
		return r;
	if (length > super->catalogue_length) {
		super->catalogue_address = super->member_size;
		super->member_size += length;
	}
	super->catalogue_length = length;
	r = source_write(source, super->member, address_offset(super->catalogue_address), bytes, length, err);
	return r < 0 ? r : reseal_superblock(source, super, err);
}
