/* SPDX-License-Identifier: MIT */
/* Writes the catalogue and the superblock slot. */
#include "volume/transaction/commit.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/round.h"
#include "image/members/address.h"
#include "image/sums/sha256.h"
#include "volume/transaction/groups.h"

struct commit {
	struct source *source;
	struct superblock *slots;
	uint32_t count;
	uint8_t *bytes; /* of the encoded catalogue */
	uint64_t length;
};

static int commit_full(uint64_t length, struct error *err)
{
	return error_set(err, -ENOSPC, "volume is full: no room for a catalogue of %" PRIu64 " bytes", length);
}

/* Takes space on each member, and raises the size of files that grow. */
static int commit_place(struct commit *commit, struct allocator *allocator, struct error *err)
{
	for (uint32_t i = 0; i < commit->count; i++) {
		struct superblock *slot = &commit->slots[i];
		uint64_t offset;

		if (!allocator_take_catalogue(allocator, slot->member, commit->length, &offset))
			return commit_full(commit->length, err);
		slot->catalogue_address = address_make(slot->member, offset);
		slot->catalogue_length = commit->length;
		if (slot->member_size < offset + commit->length)
			slot->member_size = offset + commit->length;
	}
	return 0;
}

static int commit_write(const struct commit *commit, struct error *err)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < commit->count; i++)
		r = source_write(commit->source, commit->slots[i].member,
				 address_offset(commit->slots[i].catalogue_address), commit->bytes, commit->length,
				 err);
	if (r == -ENOSPC)
		return commit_full(commit->length, err);
	return r < 0 ? r : source_flush(commit->source, err);
}

/* Compares with the medium: what is read after the flush comes from there. */
static int commit_read_back(const struct commit *commit, uint8_t *found, struct error *err)
{
	for (uint32_t i = 0; i < commit->count; i++) {
		uint64_t offset = address_offset(commit->slots[i].catalogue_address);
		int r = source_read(commit->source, commit->slots[i].member, offset, found, commit->length, err);

		if (r < 0)
			return r;
		if (memcmp(found, commit->bytes, commit->length) != 0)
			return error_set(err, -EIO,
					 "read back at offset %" PRIu64 ": %" PRIu64
					 " bytes are not what was written, do not trust the device",
					 offset, commit->length);
	}
	return 0;
}

static int commit_bytes(struct commit *commit, struct error *err)
{
	auto_free uint8_t *found = aligned_alloc(DSFS_BLOCK, commit->length);
	int r = found ? 0 : error_no_memory(err);

	if (r == 0)
		r = sha256_of(commit->bytes, commit->length, commit->slots[0].catalogue_sha256, err);
	for (uint32_t i = 1; r == 0 && i < commit->count; i++)
		memcpy(commit->slots[i].catalogue_sha256, commit->slots[0].catalogue_sha256, SHA256_SIZE);
	if (r == 0)
		r = commit_write(commit, err);
	return r < 0 ? r : commit_read_back(commit, found, err);
}

/* Enters places into the catalogue: of one member the tail, of several the sizes. */
static void commit_settle(const struct commit *commit, const struct allocator *allocator, struct catalogue *catalogue)
{
	if (!allocator->members)
		catalogue->tail = space_tail(&allocator->lanes[0].space);
	for (uint32_t i = 0; catalogue->members.count && i < commit->count; i++)
		catalogue->members.list[commit->slots[i].member].size = commit->slots[i].member_size;
}

/* Encodes the catalogue. Its length, which the place depends on, is the same before and after commit_settle(). */
static int commit_encode(const struct catalogue *catalogue, struct commit *commit, struct error *err)
{
	free(commit->bytes);
	commit->bytes = NULL;
	return catalogue_encode(catalogue, &commit->bytes, &commit->length, err);
}

int commit_catalogue(struct source *source, struct allocator *allocator, struct catalogue *catalogue,
		     const struct superblock *newest, struct superblock *slots, uint32_t count, struct error *err)
{
	struct commit commit = { .source = source, .slots = slots, .count = count };
	int r = 0;

	allocator_settle(allocator);
	if (catalogue->members.count)
		r = groups_drop_unused(catalogue, err);
	if (r == 0 && catalogue->members.count && newest->sequence)
		members_remember(&catalogue->members, newest);
	if (r == 0)
		r = commit_encode(catalogue, &commit, err);
	if (r == 0)
		r = commit_place(&commit, allocator, err);
	if (r == 0) {
		commit_settle(&commit, allocator, catalogue);
		r = commit_encode(catalogue, &commit, err);
	}
	if (r == 0)
		r = commit_bytes(&commit, err);
	free(commit.bytes);
	return r;
}

/* Reads the catalogue in force. It was verified when it was loaded, but that was another read. */
static int commit_read(struct commit *commit, const struct superblock *newest, struct error *err)
{
	commit->length = newest->catalogue_length;
	commit->bytes = aligned_alloc(DSFS_BLOCK, round_up(commit->length, DSFS_BLOCK));
	if (!commit->bytes)
		return error_no_memory(err);
	return source_read(commit->source, newest->member, address_offset(newest->catalogue_address), commit->bytes,
			   commit->length, err);
}

int commit_repeat(struct source *source, const struct superblock *newest, struct superblock *slots, uint32_t count,
		  struct error *err)
{
	struct commit commit = { .source = source, .slots = slots, .count = count };
	int r = commit_read(&commit, newest, err);

	if (r == 0)
		r = commit_bytes(&commit, err);
	if (r == 0 && memcmp(slots[0].catalogue_sha256, newest->catalogue_sha256, SHA256_SIZE) != 0)
		r = error_set(err, -EBADMSG, "catalogue: its SHA-256 is not the one in the superblock");
	for (uint32_t i = 0; r == 0 && i < count; i++)
		r = commit_slot(source, &slots[i], err);
	free(commit.bytes);
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
