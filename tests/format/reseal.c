/* SPDX-License-Identifier: MIT */
/* Goes up from a section by its record and the catalogue to the superblock. */
#include "format/reseal.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "image/members/address.h"
#include "image/sums/sha256.h"

static int reseal_sum(struct source *source, uint64_t address, uint64_t length, uint8_t sha256[32], struct error *err)
{
	auto_free uint8_t *bytes = malloc(length);
	int r = bytes ? source_read(source, 0, address_offset(address), bytes, length, err) : error_no_memory(err);

	return r < 0 ? r : sha256_of(bytes, length, sha256, err);
}

static int reseal_section(struct source *source, struct version_section *section, uint64_t length, struct error *err)
{
	if (section->extents.count != 1)
		return error_set(err, -EINVAL, "a section in %u pieces, expected 1", section->extents.count);
	return reseal_sum(source, section->extents.items[0].address, length, section->sha256, err);
}

int reseal_index(struct source *source, struct version *version, struct error *err)
{
	return reseal_section(source, &version->index, version->index.length, err);
}

int reseal_head(struct source *source, struct version *version, uint64_t length, struct error *err)
{
	return reseal_section(source, &version->block_sums, length, err);
}

int reseal_superblock(struct source *source, struct superblock *super, struct error *err)
{
	int r = reseal_sum(source, super->catalogue_address, super->catalogue_length, super->catalogue_sha256, err);

	return r < 0 ? r : superblock_write(source, super, err);
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
	r = source_write(source, 0, address_offset(super->catalogue_address), bytes, length, err);
	return r < 0 ? r : reseal_superblock(source, super, err);
}
