/* SPDX-License-Identifier: MIT */
/* Writes the catalogue and the superblock slot. */
#include "volume/transaction/commit.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/round.h"
#include "base/span.h"
#include "image/members/address.h"
#include "image/sums/sha256.h"
#include "volume/transaction/groups.h"

static int commit_full(const struct allocator *allocator, uint64_t length, struct error *err)
{
	char what[64];

	snprintf(what, sizeof(what), "a catalogue of %" PRIu64 " bytes", length);
	return allocator_full(allocator, what, err);
}

/* Takes space on each member, and raises the size of files that grow. */
static int commit_place(const struct commit *commit, struct allocator *allocator, uint64_t length, struct error *err)
{
	for (uint32_t i = 0; i < commit->count; i++) {
		struct superblock *slot = &commit->slots[i];
		uint64_t offset;

		if (!allocator_take_catalogue(allocator, slot->member, length, &offset))
			return commit_full(allocator, length, err);
		slot->catalogue_address = address_make(slot->member, offset);
		slot->catalogue_length = length;
		if (slot->member_size < offset + length)
			slot->member_size = offset + length;
	}
	return 0;
}

static int commit_write(const struct commit *commit, struct span bytes, struct error *err)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < commit->count; i++)
		r = source_write(commit->source, commit->slots[i].member,
				 address_offset(commit->slots[i].catalogue_address), bytes.base, bytes.size, err);
	return r < 0 ? r : source_flush(commit->source, err);
}

/* Compares with the medium: reads after the flush come from there. */
static int commit_read_back(const struct commit *commit, struct span bytes, uint8_t *found, struct error *err)
{
	for (uint32_t i = 0; i < commit->count; i++) {
		uint64_t offset = address_offset(commit->slots[i].catalogue_address);
		int r = source_read(commit->source, commit->slots[i].member, offset, found, bytes.size, err);

		if (r < 0)
			return r;
		if (memcmp(found, bytes.base, bytes.size) != 0)
			return error_set(err, -EIO,
					 "read back at offset %" PRIu64 ": %" PRIu64
					 " bytes differ from those written: do not trust the device",
					 offset, bytes.size);
	}
	return 0;
}

static int commit_bytes(const struct commit *commit, struct span bytes, struct error *err)
{
	auto_free uint8_t *found = aligned_alloc(DSFS_BLOCK, bytes.size);
	int r = found ? 0 : error_no_memory(err);

	if (r == 0)
		r = sha256_of(bytes.base, bytes.size, commit->slots[0].catalogue_sha256, err);
	for (uint32_t i = 1; r == 0 && i < commit->count; i++)
		memcpy(commit->slots[i].catalogue_sha256, commit->slots[0].catalogue_sha256, SHA256_SIZE);
	if (r == 0)
		r = commit_write(commit, bytes, err);
	return r < 0 ? r : commit_read_back(commit, bytes, found, err);
}

/* Enters places into the catalogue: of one member the tail, of several the sizes. */
static void commit_settle(const struct commit *commit, const struct allocator *allocator, struct catalogue *catalogue)
{
	if (!allocator->members)
		catalogue->tail = space_tail(&allocator->lanes[0].space);
	for (uint32_t i = 0; catalogue->members.count && i < commit->count; i++)
		catalogue->members.list[commit->slots[i].member].size = commit->slots[i].member_size;
}

int commit_catalogue(const struct commit *commit, struct allocator *allocator, struct catalogue *catalogue,
		     struct error *err)
{
	auto_free uint8_t *bytes = NULL;
	uint64_t length = 0;
	int r = 0;

	allocator_settle(allocator);
	if (catalogue->members.count)
		r = groups_drop_unused(catalogue, err);
	if (r == 0 && catalogue->members.count && commit->newest->sequence)
		members_remember(&catalogue->members, commit->newest);
	if (r == 0)
		r = catalogue_encode(catalogue, &bytes, &length, err);
	if (r == 0)
		r = commit_place(commit, allocator, length, err);
	if (r < 0)
		return r;
	free(take_ptr(&bytes));
	commit_settle(commit, allocator, catalogue);
	r = catalogue_encode(catalogue, &bytes, &length, err); /* as long as before */
	return r < 0 ? r : commit_bytes(commit, span_of(bytes, length), err);
}

/* Reads the catalogue in force. It was verified when it was loaded, but that was another read. */
static int commit_read(const struct commit *commit, uint8_t *bytes, struct error *err)
{
	uint64_t address = commit->newest->catalogue_address;

	return source_read(commit->source, commit->newest->member, address_offset(address), bytes,
			   commit->newest->catalogue_length, err);
}

int commit_repeat(const struct commit *commit, struct error *err)
{
	const struct superblock *newest = commit->newest;
	auto_free uint8_t *bytes = aligned_alloc(DSFS_BLOCK, round_up(newest->catalogue_length, DSFS_BLOCK));
	int r = bytes ? commit_read(commit, bytes, err) : error_no_memory(err);

	if (r == 0)
		r = commit_bytes(commit, span_of(bytes, newest->catalogue_length), err);
	if (r == 0 && memcmp(commit->slots[0].catalogue_sha256, newest->catalogue_sha256, SHA256_SIZE) != 0)
		r = error_set(err, -EBADMSG, "catalogue: its SHA-256 is not the one in the superblock");
	for (uint32_t i = 0; r == 0 && i < commit->count; i++)
		r = commit_slot(commit->source, &commit->slots[i], err);
	return r;
}

int commit_slot(struct source *source, const struct superblock *super, struct error *err)
{
	int r = superblock_write(source, super, err);

	return r < 0 ? r : source_flush_member(source, super->member, err);
}

int commit_check(struct source *source, const struct superblock *super, struct error *err)
{
	struct superblock found;
	int r = superblock_find(source, super->member, &found, err);

	if (r == 0 && (found.sequence != super->sequence ||
		       memcmp(found.catalogue_sha256, super->catalogue_sha256, sizeof(found.catalogue_sha256)) != 0))
		r = error_set(err, -EIO, "superblock %" PRIu64 " was written, but %" PRIu64 " was read back",
			      super->sequence, found.sequence);
	return r;
}
