/* SPDX-License-Identifier: MIT */
/* Encodes and checks the record. */
#include "volume/replacement/replacement_record.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/direct.h"
#include "image/sums/checksum.h"

#define RECORD_SUMMED     (sizeof(struct dsfs_replacement) - sizeof(dsfs_le64))
#define RECORD_SUMS_BYTES (DSFS_REPLACED_COUNT * sizeof(dsfs_le64))

#define RECORD_SUMS_IN_BLOCK (DSFS_BLOCK / (uint32_t)sizeof(dsfs_le64))

_Static_assert(DSFS_REPLACED_COUNT % RECORD_SUMS_IN_BLOCK == 0, "the sums fill blocks");

bool replacement_record_read(struct file_source *file, struct replacement_record *ret)
{
	struct dsfs_replacement disk __attribute__((aligned(DIRECT_ALIGN)));

	if (source_read(&file->source, 0, DSFS_REPLACEMENT_AT, &disk, sizeof(disk), NULL) < 0 ||
	    memcmp(disk.magic, DSFS_REPLACEMENT_MAGIC, sizeof(disk.magic)) != 0 ||
	    dsfs_le64_get(disk.checksum) != checksum_64(&disk, RECORD_SUMMED))
		return false;
	memcpy(ret->volume_uuid, disk.volume_uuid, sizeof(ret->volume_uuid));
	memcpy(ret->member_uuid, disk.member_uuid, sizeof(ret->member_uuid));
	memcpy(ret->catalogue_sha256, disk.catalogue_sha256, sizeof(ret->catalogue_sha256));
	ret->member = dsfs_le32_get(disk.member);
	ret->sequence = dsfs_le64_get(disk.sequence);
	return true;
}

int replacement_record_write(struct file_source *file, const struct replacement_record *record, struct error *err)
{
	struct dsfs_replacement disk __attribute__((aligned(DIRECT_ALIGN)));

	memset(&disk, 0, sizeof(disk));
	memcpy(disk.magic, DSFS_REPLACEMENT_MAGIC, sizeof(disk.magic));
	memcpy(disk.volume_uuid, record->volume_uuid, sizeof(disk.volume_uuid));
	memcpy(disk.member_uuid, record->member_uuid, sizeof(disk.member_uuid));
	memcpy(disk.catalogue_sha256, record->catalogue_sha256, sizeof(disk.catalogue_sha256));
	disk.member = dsfs_le32_of(record->member);
	disk.sequence = dsfs_le64_of(record->sequence);
	disk.checksum = dsfs_le64_of(checksum_64(&disk, RECORD_SUMMED));
	return source_write(&file->source, 0, DSFS_REPLACEMENT_AT, &disk, sizeof(disk), err);
}

int replacement_record_clear(struct file_source *file, struct error *err)
{
	uint8_t zeros[sizeof(struct dsfs_replacement)] __attribute__((aligned(DIRECT_ALIGN))) = { 0 };
	int r = source_write(&file->source, 0, DSFS_REPLACEMENT_AT, zeros, sizeof(zeros), err);

	return r < 0 ? r : source_flush(&file->source, err);
}

/* --- sums --- */

int replacement_record_read_sums(struct file_source *file, uint64_t *sums, struct error *err)
{
	auto_free dsfs_le64 *disk = aligned_alloc(DSFS_BLOCK, RECORD_SUMS_BYTES);
	int r = disk ? source_read(&file->source, 0, DSFS_REPLACED_AT, disk, RECORD_SUMS_BYTES, err) :
		       error_no_memory(err);

	for (uint32_t i = 0; r == 0 && i < DSFS_REPLACED_COUNT; i++)
		sums[i] = dsfs_le64_get(disk[i]);
	return r;
}

static int replacement_record_write_block(struct file_source *file, const uint64_t *sums, uint32_t at,
					  struct error *err)
{
	dsfs_le64 disk[RECORD_SUMS_IN_BLOCK] __attribute__((aligned(DSFS_BLOCK)));

	for (uint32_t i = 0; i < RECORD_SUMS_IN_BLOCK; i++)
		disk[i] = dsfs_le64_of(sums[at + i]);
	return source_write(&file->source, 0, DSFS_REPLACED_AT + at * sizeof(*disk), disk, sizeof(disk), err);
}

static int replacement_record_write_all(struct file_source *file, const uint64_t *sums, struct error *err)
{
	auto_free dsfs_le64 *disk = aligned_alloc(DSFS_BLOCK, RECORD_SUMS_BYTES);

	if (!disk)
		return error_no_memory(err);
	for (uint32_t i = 0; i < DSFS_REPLACED_COUNT; i++)
		disk[i] = dsfs_le64_of(sums[i]);
	return source_write(&file->source, 0, DSFS_REPLACED_AT, disk, RECORD_SUMS_BYTES, err);
}

int replacement_record_write_sums(struct file_source *file, const uint64_t *sums, const uint64_t *former,
				  struct error *err)
{
	int r = 0;

	if (!former)
		return replacement_record_write_all(file, sums, err);
	for (uint32_t at = 0; r == 0 && at < DSFS_REPLACED_COUNT; at += RECORD_SUMS_IN_BLOCK)
		if (memcmp(&former[at], &sums[at], DSFS_BLOCK) != 0)
			r = replacement_record_write_block(file, sums, at, err);
	return r;
}
