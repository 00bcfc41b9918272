/* SPDX-License-Identifier: MIT */
/* Writes the catalogue and the superblock slot. */
#include "volume/commit.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "image/address.h"
#include "image/sha256.h"

/* What is read back after the flush comes from the medium. */
static int commit_write(struct source *source, uint64_t offset, const uint8_t *bytes, uint64_t length,
			struct error *err)
{
	auto_free uint8_t *found = aligned_alloc(DSFS_BLOCK, length);
	int r;

	if (!found)
		return error_set(err, -ENOMEM, "out of memory");
	r = source_write(source, 0, offset, bytes, length, err);
	if (r == 0)
		r = source_flush(source, err);
	if (r == 0)
		r = source_read(source, 0, offset, found, length, err);
	if (r == 0 && memcmp(found, bytes, length) != 0)
		r = error_set(err, -EIO,
			      "read back at offset %" PRIu64 ": %" PRIu64
			      " bytes are not what was written, do not trust the device",
			      offset, length);
	return r;
}

/* The size on the volume is known before the tail is, which is a field of it. */
int commit_catalogue(struct source *source, struct space *space, struct catalogue *catalogue,
		     struct superblock *super, struct error *err)
{
	auto_free uint8_t *draft = NULL;
	auto_free uint8_t *bytes = NULL;
	uint64_t length, offset;
	int r;

	r = catalogue_encode(catalogue, &draft, &length, err);
	if (r < 0)
		return r;
	if (!space_take_catalogue(space, length, &offset))
		return error_set(err, -ENOSPC, "volume is full: no room for a catalogue of %" PRIu64 " bytes", length);
	catalogue->tail = space_tail(space);
	r = catalogue_encode(catalogue, &bytes, &length, err);
	if (r == 0)
		r = commit_write(source, offset, bytes, length, err);
	if (r == -ENOSPC)
		return error_set(err, r, "volume is full: no room for a catalogue of %" PRIu64 " bytes", length);
	if (r == 0)
		r = sha256_of(bytes, length, super->catalogue_sha256, err);
	if (r < 0)
		return r;
	super->catalogue_address = address_make(0, offset);
	super->catalogue_length = length;
	return 0;
}

int commit_slot(struct source *source, const struct superblock *super, struct error *err)
{
	int r = superblock_write(source, super, err);

	return r < 0 ? r : source_flush(source, err);
}

int commit_check(struct source *source, const struct superblock *super, struct error *err)
{
	struct superblock found;
	int r = superblock_find(source, 0, &found, err);

	if (r == 0 && (found.sequence != super->sequence ||
		       memcmp(found.catalogue_sha256, super->catalogue_sha256, sizeof(found.catalogue_sha256)) != 0))
		r = error_set(err, -EIO, "superblock %" PRIu64 " was written, but %" PRIu64 " was read back",
			      super->sequence, found.sequence);
	return r;
}
