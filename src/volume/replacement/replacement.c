/* SPDX-License-Identifier: MIT */
/* Copies columns in batches: writes, flushes, reads back, and only then notes them in the record. */
#include "volume/replacement/replacement.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "base/program/interrupt.h"
#include "image/members/address.h"
#include "image/sums/checksum.h"
#include "volume/replacement/column_reader.h"

#define REPLACEMENT_STEP  (UINT64_C(2) << 20)  /* bytes of one write, at most */
#define REPLACEMENT_BATCH (UINT64_C(4) << 20) /* bytes between two flushes, unless a column is longer */

void replacement_close(struct replacement *replacement)
{
	free(replacement->columns);
	free(replacement->sums);
	*replacement = (struct replacement){ 0 };
}

static const struct members *replacement_members(const struct replacement *replacement)
{
	return &replacement->transaction->catalogue.members;
}

/* --- missing columns --- */

/* Finds the member's own column of a group; false: it has none. */
static bool replacement_find(const struct replacement *replacement, const struct member_group *group, uint64_t *ret)
{
	const uint64_t *columns = &replacement_members(replacement)->columns[group->first_column];

	for (uint32_t i = 0; i < (uint32_t)group->data + group->redundant; i++)
		if (address_member(columns[i]) == replacement->number) {
			*ret = address_offset(columns[i]);
			return true;
		}
	return false;
}

/* Returns the columns from which a group can be read, on members that are there, and how many. The one on the replaced
 * member comes last, as it may be failing. */
static uint32_t replacement_sources(const struct replacement *replacement, uint32_t number,
				    uint64_t ret[DSFS_COPIES_MAX])
{
	const struct members *members = replacement_members(replacement);
	const struct member_group *group = &members->groups[number];
	uint32_t count = 0;

	for (unsigned former = 0; former < 2; former++)
		for (uint32_t i = 0; i <= group->redundant; i++) {
			uint64_t column = members->columns[group->first_column + i];
			uint32_t member = address_member(column);

			if ((member == replacement->number) == former && replacement->transaction->members[member].file)
				ret[count++] = column;
		}
	return count;
}

static int replacement_compare(const void *a, const void *b, void *argument)
{
	const struct replacement_column *x = a, *y = b;
	const struct members *members = argument;
	uint64_t p = members->columns[members->groups[x->group].first_column];
	uint64_t q = members->columns[members->groups[y->group].first_column];

	return (p > q) - (p < q);
}

static void replacement_count_lost(struct replacement *replacement, const bool *is_lost)
{
	const struct catalogue *catalogue = &replacement->transaction->catalogue;
	uint64_t segment = UINT64_C(1) << catalogue->members.segment_log;

	for (uint32_t v = 0; v < catalogue->version_count; v++) {
		const struct extent_list *list = &catalogue->versions[v].segments;
		bool has_lost = false;

		for (uint32_t i = 0; i < list->count; i++)
			for (uint64_t at = 0; at < list->items[i].length; at += segment) {
				const struct member_group *group =
					members_group(&catalogue->members, list->items[i].address + at);

				has_lost |= group && is_lost[group - catalogue->members.groups];
			}
		replacement->lost_versions += has_lost;
	}
}

static void replacement_add(struct replacement *replacement, uint32_t number)
{
	const struct member_group *group = &replacement_members(replacement)->groups[number];
	uint64_t offset;

	if (!replacement_find(replacement, group, &offset))
		return;
	replacement->used_bytes += group->tail;
	if (group->birth <= replacement->complete) {
		replacement->kept_bytes += group->tail;
		return;
	}
	replacement->columns[replacement->count++] =
		(struct replacement_column){ offset, group->birth, number, group->tail, false };
}

int replacement_plan(struct replacement *replacement, struct error *err)
{
	const struct members *members = replacement_members(replacement);

	replacement->columns = calloc((size_t)members->group_count + 1, sizeof(*replacement->columns));
	replacement->sums = calloc(DSFS_REPLACED_COUNT, sizeof(*replacement->sums));
	if (!replacement->columns || !replacement->sums)
		return error_no_memory(err);
	for (uint32_t i = 0; i < members->group_count; i++)
		replacement_add(replacement, i);
	qsort_r(replacement->columns, replacement->count, sizeof(*replacement->columns), replacement_compare,
		(void *)(uintptr_t)members);
	return 0;
}

int replacement_find_lost(struct replacement *replacement, struct error *err)
{
	auto_free bool *is_lost = calloc((size_t)replacement_members(replacement)->group_count + 1, sizeof(*is_lost));
	uint64_t sources[DSFS_COPIES_MAX];

	if (!is_lost)
		return error_no_memory(err);
	for (uint32_t i = 0; i < replacement->count; i++) {
		const struct replacement_column *column = &replacement->columns[i];

		is_lost[column->group] = !column->is_done && !replacement_sources(replacement, column->group, sources);
		if (is_lost[column->group])
			replacement->lost_bytes += column->tail;
	}
	replacement_count_lost(replacement, is_lost);
	return 0;
}

uint64_t replacement_size(const struct replacement *replacement)
{
	uint64_t segment = UINT64_C(1) << replacement_members(replacement)->segment_log, size = DSFS_DATA_AT, offset;

	for (uint32_t i = 0; i < replacement_members(replacement)->group_count; i++)
		if (replacement_find(replacement, &replacement_members(replacement)->groups[i], &offset) &&
		    offset + segment > size)
			size = offset + segment;
	return size;
}

/* --- the record --- */

/* Returns the number of adjacent segments that share a sum. */
static uint64_t replacement_stride(const struct replacement *replacement)
{
	uint64_t segments = replacement_size(replacement) >> replacement_members(replacement)->segment_log;

	return (segments + DSFS_REPLACED_COUNT - 1) / DSFS_REPLACED_COUNT;
}

static uint32_t replacement_place(const struct replacement *replacement, const struct replacement_column *column)
{
	uint64_t segment = column->offset >> replacement_members(replacement)->segment_log;

	return (uint32_t)(segment / replacement_stride(replacement));
}

static uint64_t replacement_sum(const struct replacement_column *column)
{
	const dsfs_le64 what[] = { dsfs_le64_of(column->offset), dsfs_le64_of(column->birth),
				   dsfs_le64_of(column->tail) };

	return checksum_64(what, sizeof(what));
}

/* Returns the sum for each place when all its columns are there, or all that are done. */
static uint64_t *replacement_expect(const struct replacement *replacement, bool only_done)
{
	uint64_t *sums = calloc(DSFS_REPLACED_COUNT, sizeof(*sums));

	for (uint32_t i = 0; sums && i < replacement->count; i++) {
		const struct replacement_column *column = &replacement->columns[i];

		if (column->is_done || !only_done)
			sums[replacement_place(replacement, column)] += replacement_sum(column);
	}
	return sums;
}

static void replacement_describe(const struct replacement *replacement, struct replacement_record *record)
{
	const struct superblock *super = &replacement->transaction->super;

	*record = (struct replacement_record){ .member = replacement->number, .sequence = super->sequence };
	memcpy(record->volume_uuid, super->volume_uuid, sizeof(record->volume_uuid));
	memcpy(record->member_uuid, replacement->uuid, sizeof(record->member_uuid));
	memcpy(record->catalogue_sha256, super->catalogue_sha256, sizeof(record->catalogue_sha256));
}

/* Whether the record's catalogue is ours or an ancestor: columns of any other may hold anything. */
static bool replacement_is_ancestor(const struct replacement *replacement, const struct replacement_record *found)
{
	const struct superblock *super = &replacement->transaction->super;

	if (found->sequence == super->sequence)
		return !memcmp(found->catalogue_sha256, super->catalogue_sha256, sizeof(super->catalogue_sha256));
	return members_age(replacement_members(replacement), found->sequence, found->catalogue_sha256);
}

int replacement_resume(struct replacement *replacement, struct file_source *file, struct error *err)
{
	struct replacement_record ours, found;
	auto_free uint64_t *expected = replacement_expect(replacement, false);
	int r;

	replacement_describe(replacement, &ours);
	if (!expected)
		return error_no_memory(err);
	if (!replacement_record_read(file, &found) || found.member != ours.member ||
	    memcmp(found.volume_uuid, ours.volume_uuid, sizeof(ours.volume_uuid)) != 0 ||
	    memcmp(found.member_uuid, ours.member_uuid, sizeof(ours.member_uuid)) != 0 ||
	    !replacement_is_ancestor(replacement, &found))
		return 0;
	replacement->is_resumed = true;
	r = replacement_record_read_sums(file, replacement->sums, err);
	for (uint32_t i = 0; r == 0 && i < replacement->count; i++) {
		struct replacement_column *column = &replacement->columns[i];
		uint32_t place = replacement_place(replacement, column);

		column->is_done = replacement->sums[place] == expected[place];
		if (column->is_done)
			replacement->kept_bytes += column->tail;
	}
	return r;
}

/* --- copying --- */

struct replacement_write {
	uint64_t offset, length, sum;
};

struct replacement_batch {
	struct replacement *replacement;
	struct file_source *file;
	struct column_reader reader;
	uint8_t *buffer;            /* REPLACEMENT_STEP bytes for reading back */
	struct replacement_write *writes; /* writes since the last flush */
	size_t count, room;
	uint64_t bytes;
	uint32_t first; /* first column of the batch */
};

static int batch_write(struct replacement_batch *batch, uint64_t offset, const uint8_t *bytes, uint64_t length,
		       struct error *err)
{
	int r = grow(batch->writes, batch->room, batch->count + 1, err);

	if (r < 0)
		return r;
	batch->writes[batch->count++] = (struct replacement_write){ offset, length, checksum_64(bytes, length) };
	batch->replacement->written_bytes += length;
	progress_add(batch->replacement->progress, 0, length);
	return source_write(&batch->file->source, 0, offset, bytes, length, err);
}

static int batch_copy_column(struct replacement_batch *batch, const struct replacement_column *column,
			     struct error *err)
{
	const struct members *members = replacement_members(batch->replacement);
	uint64_t sources[DSFS_COPIES_MAX], at, length = 1;
	uint32_t count = replacement_sources(batch->replacement, column->group, sources);
	const uint8_t *bytes = NULL;
	uint64_t data = members->columns[members->groups[column->group].first_column];
	int r = 0;

	column_reader_begin(&batch->reader, data, sources, count, column->tail);
	while (r == 0 && length) {
		r = interrupt_check(err);
		if (r == 0)
			r = column_reader_next(&batch->reader, &bytes, &at, &length, err);
		if (r == 0 && length)
			r = batch_write(batch, column->offset + at, bytes, length, err);
	}
	batch->bytes += column->tail;
	return r;
}

static int batch_check_write(struct replacement_batch *batch, const struct replacement_write *write, struct error *err)
{
	int r = source_read(&batch->file->source, 0, write->offset, batch->buffer, write->length, err);

	if (r == 0 && checksum_64(batch->buffer, write->length) != write->sum)
		r = error_set(err, -EIO,
			      "read back at offset %" PRIu64 ": %" PRIu64
			      " bytes differ from those written: do not trust the device",
			      write->offset, write->length);
	return r < 0 ? r : interrupt_check(err);
}

/* Flushes and reads back the written columns, then marks them as done in the record. end: behind the last column. */
static int batch_finish(struct replacement_batch *batch, uint32_t end, struct error *err)
{
	struct replacement *replacement = batch->replacement;
	auto_free uint64_t *sums = NULL;
	int r = source_flush(&batch->file->source, err);

	for (uint64_t i = 0; r == 0 && i < batch->count; i++)
		r = batch_check_write(batch, &batch->writes[i], err);
	for (uint32_t i = batch->first; r == 0 && i < end; i++)
		replacement->columns[i].is_done = true;
	batch->first = end;
	batch->count = batch->bytes = 0;
	if (r < 0)
		return r;
	sums = replacement_expect(replacement, true);
	r = sums ? replacement_record_write_sums(batch->file, sums, replacement->sums, err) : error_no_memory(err);
	if (r == 0)
		memcpy(replacement->sums, sums, DSFS_REPLACED_COUNT * sizeof(*sums));
	return r;
}

static int batch_run(struct replacement_batch *batch, struct error *err)
{
	struct replacement *replacement = batch->replacement;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < replacement->count; i++) {
		if (!replacement->columns[i].is_done)
			r = batch_copy_column(batch, &replacement->columns[i], err);
		if (r == 0 && (batch->bytes >= REPLACEMENT_BATCH || i + 1 == replacement->count))
			r = batch_finish(batch, i + 1, err);
	}
	return r < 0 ? r : source_flush(&batch->file->source, err);
}

static int replacement_record(const struct replacement_record *record, struct file_source *file, struct error *err)
{
	int r = replacement_record_write(file, record, err);

	return r < 0 ? r : source_flush(&file->source, err);
}

/* Prepares the record. Unless the device's sums are valid, writes one without a state first: it identifies the device,
 * and former bytes in the place of the sums do not count. */
static int replacement_begin(struct replacement *replacement, struct file_source *file, struct error *err)
{
	auto_free uint64_t *sums = replacement_expect(replacement, true);
	struct replacement_record record, none;
	int r;

	replacement_describe(replacement, &record);
	none = record;
	none.sequence = 0;
	r = sums ? 0 : error_no_memory(err);
	if (r == 0 && !replacement->is_resumed)
		r = replacement_record(&none, file, err);
	if (r == 0)
		r = replacement_record_write_sums(file, sums, NULL, err);
	if (r == 0)
		r = source_flush(&file->source, err);
	if (r == 0)
		memcpy(replacement->sums, sums, DSFS_REPLACED_COUNT * sizeof(*sums));
	return r < 0 ? r : replacement_record(&record, file, err);
}

int replacement_copy(struct replacement *replacement, struct file_source *file, struct error *err)
{
	auto_free uint8_t *buffer = aligned_alloc(DSFS_BLOCK, REPLACEMENT_STEP);
	struct replacement_batch batch = { .replacement = replacement, .file = file, .buffer = buffer };
	uint64_t missing = replacement->used_bytes - replacement->kept_bytes;
	int r = buffer ? replacement_begin(replacement, file, err) : error_no_memory(err);

	progress_phase(replacement->progress, "indexes", 0);
	if (r == 0)
		r = column_reader_open(&batch.reader, replacement->transaction->source,
				       &replacement->transaction->catalogue, err);
	progress_phase(replacement->progress, "copying", missing);
	if (r == 0)
		r = batch_run(&batch, err);
	replacement->read_bytes = batch.reader.read_bytes;
	replacement->wrong = batch.reader.wrong;
	replacement->damaged = batch.reader.damaged;
	column_reader_close(&batch.reader);
	free(batch.writes);
	return r;
}

/* --- afterwards --- */

static bool replacement_is_there(const struct replacement *replacement, uint32_t member)
{
	return member == replacement->number || replacement->transaction->members[member].file;
}

uint32_t replacement_incomplete(const struct replacement *replacement, uint64_t *ret_bytes)
{
	const struct members *members = replacement_members(replacement);
	uint32_t incomplete = 0;

	*ret_bytes = 0;
	for (uint32_t g = 0; g < members->group_count; g++) {
		const struct member_group *group = &members->groups[g];
		const uint64_t *columns = &members->columns[group->first_column];
		uint32_t count = (uint32_t)group->data + group->redundant, there = 0;

		for (uint32_t i = 0; i < count; i++)
			there += replacement_is_there(replacement, address_member(columns[i]));
		incomplete += there < count;
		*ret_bytes += there < count && there < 2 ? group->tail : 0;
	}
	return incomplete;
}
