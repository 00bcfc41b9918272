/* SPDX-License-Identifier: MIT */
/* Writes a section in steps. A step stays where it is if its records do not change and it lies outside the victims. */
#include "volume/compaction/reindex.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/huge.h"
#include "base/program/interrupt.h"
#include "base/round.h"
#include "image/catalogue/dump.h"
#include "image/catalogue/index_load.h"
#include "image/chunk.h"
#include "image/index.h"
#include "image/inode.h"
#include "image/members/address.h"
#include "image/sums/sha256.h"
#include "volume/compaction/live_extents.h"
#include "volume/compaction/rerank.h"
#include "volume/compaction/victims.h"

#define REINDEX_MOST (1u << 20) /* bytes of a step, at most */

_Static_assert(sizeof(struct dsfs_chunk) % 4 == 0 && sizeof(struct dsfs_chunk_sha256) % 4 == 0, "see reindex_step()");

struct reindex_section {
	struct reindex *reindex;
	const struct version *version;
	const struct index *index; /* the section as it is now */
	struct bits files;         /* a bit for each chunk record that is a file's first */
	dsfs_le32 *places;         /* the new table of places; NULL: the old one stays */
	uint8_t *buffer;           /* a step of the new section */
	struct sha256 *sha;
	struct extent_list *list;
	uint64_t from, to;   /* a run of one file's stored bytes, and where the whole run went; 0: not as a whole */
	uint64_t run_record; /* number of the record behind the run */
	uint32_t extent;    /* index of the extent that was last looked up */
	uint64_t extent_at; /* offset of that extent in the section */
};

/* --- the index --- */

/* Returns the bytes of a step: whole blocks, and whole records. Both are multiples of 4. */
static uint64_t reindex_step(const struct index *index)
{
	return round_down(REINDEX_MOST, DSFS_BLOCK * index_record_size(index->shape.chunk_sum) / 4);
}

/* Returns where the section's bytes from at on lie, at most length of them. Steps come in order, so the extent is near
 * the last one: an index may have one for each of its blocks. */
static struct extent reindex_place(struct reindex_section *section, uint64_t at, uint64_t length)
{
	const struct extent *items = section->version->index.extents.items;
	uint64_t left;

	while (at < section->extent_at)
		section->extent_at -= items[--section->extent].length;
	while (at - section->extent_at >= items[section->extent].length)
		section->extent_at += items[section->extent++].length;
	at -= section->extent_at;
	left = items[section->extent].length - at;
	return (struct extent){ items[section->extent].address + at, length < left ? length : left };
}

static bool reindex_is_in_victim(struct reindex_section *section, uint64_t at, uint64_t length)
{
	const struct reindex *reindex = section->reindex;
	struct extent place;

	for (uint64_t done = 0; done < length; done += place.length) {
		place = reindex_place(section, at + done, length - done);
		if (victims_touches(reindex->line, reindex->victims, place.address, place.length))
			return true;
	}
	return false;
}

/* Adds bytes to the new list; no extent crosses a group's column. */
static int reindex_add(struct reindex_section *section, uint64_t address, uint64_t length, struct error *err)
{
	const struct line *line = section->reindex->line;

	return section->reindex->catalogue->members.count ?
		       extent_list_add_in(section->list, address, length, line->segment, err) :
		       extent_list_add(section->list, address, length, err);
}

static int reindex_keep(struct reindex_section *section, uint64_t at, uint64_t length, struct error *err)
{
	struct extent place;
	int r = 0;

	for (uint64_t done = 0; r == 0 && done < length; done += place.length) {
		place = reindex_place(section, at + done, length - done);
		r = reindex_add(section, place.address, place.length, err);
	}
	return r;
}

static int reindex_put(struct reindex *reindex, const uint8_t *bytes, uint64_t address, uint64_t length,
		       struct error *err)
{
	uint64_t places[DSFS_COPIES_MAX];
	uint32_t count = allocator_copies(reindex->allocator, address, places);
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < count; i++)
		r = source_write(reindex->source, address_member(places[i]), address_offset(places[i]), bytes, length,
				 err);
	return r;
}

static int reindex_write(struct reindex_section *section, uint64_t length, struct error *err)
{
	struct reindex *reindex = section->reindex;
	char what[DSFS_LABEL_MAX + 32];
	uint64_t address;
	int r = 0;

	allocator_choose(reindex->allocator, length);
	if (!allocator_take(reindex->allocator, length, SPACE_BLOCK, &address)) {
		snprintf(what, sizeof(what), "the index of version '%s'", section->version->label);
		return allocator_full(reindex->allocator, what, err);
	}
	if (!reindex->is_rehearsal)
		r = reindex_put(reindex, section->buffer, address, length, err);
	if (r == 0)
		r = reindex_add(section, address, length, err);
	reindex->index_bytes += length;
	return r;
}

static int reindex_find_files(const struct index *index, struct bits *ret, struct error *err)
{
	struct inode inode;
	int r;

	r = bits_open(ret, index->shape.chunk_count, err);
	for (uint64_t ordinal = INODE_ROOT; r == 0 && ordinal <= index->shape.inode_count; ordinal++) {
		r = inode_get(index, ordinal, &inode, err);
		if (r == 0 && S_ISREG(inode.mode))
			bits_set(ret, inode.where, 1);
	}
	return r;
}

/* Whether a record has a place that could change; holes and bytes in the index have none. */
static bool reindex_has_place(const struct dsfs_chunk *record)
{
	uint64_t address = dsfs_le64_get(record->address);

	return address != 0 && address_member(address) != DSFS_IN_INDEX;
}

static uint64_t reindex_stored(const struct reindex_section *section, const struct dsfs_chunk *record)
{
	return chunk_of_record(section->index->shape.chunk_sum, record).stored;
}

/* Looks up a file's run as a whole, so that it stays one read: two pieces may share a block, with the end of one file
 * and the beginning of the next. */
static void reindex_begin_run(struct reindex_section *section, uint64_t number)
{
	const struct dsfs_chunk *record = index_record(section->index, number);
	uint64_t length = reindex_stored(section, record), next;

	section->from = dsfs_le64_get(record->address);
	for (next = number + 1; next < section->files.count && !bits_get(&section->files, next); next++) {
		record = index_record(section->index, next);
		if (!reindex_has_place(record))
			continue;
		if (dsfs_le64_get(record->address) != section->from + length)
			break;
		length += reindex_stored(section, record);
	}
	section->run_record = next;
	section->to = relocate_find(section->reindex->chunks, section->from, length);
}

/* Returns the new address of a chunk; 0: it stays. */
static uint64_t reindex_find(struct reindex_section *section, uint64_t number, const struct dsfs_chunk *record)
{
	uint64_t address = dsfs_le64_get(record->address);

	if (number >= section->run_record)
		reindex_begin_run(section, number);
	return section->to ? section->to + (address - section->from) :
			     relocate_find(section->reindex->chunks, address, reindex_stored(section, record));
}

/* Patches records in the buffer, which begins with record number first; true: one changed. */
static bool reindex_patch(struct reindex_section *section, uint64_t first, uint64_t count)
{
	uint32_t size = index_record_size(section->index->shape.chunk_sum);
	bool changed = false;

	for (uint64_t i = 0; i < count; i++) {
		struct dsfs_chunk *record = (struct dsfs_chunk *)(section->buffer + i * size);
		uint64_t to;

		if (!reindex_has_place(record))
			continue;
		to = reindex_find(section, first + i, record);
		if (!to)
			continue;
		record->address = dsfs_le64_of(to);
		changed = true;
	}
	return changed;
}

/* Puts the new table of places into the buffer, which has length bytes of the section from at on; true: some of them
 * changed. */
static bool reindex_put_places(struct reindex_section *section, uint64_t at, uint64_t length)
{
	const struct span table = section->index->places;
	uint64_t from, first, end;
	const uint8_t *bytes;
	bool changed;

	if (!section->places)
		return false;
	from = (uint64_t)(table.base - (const uint8_t *)section->index->map);
	first = from > at ? from : at;
	end = from + table.size < at + length ? from + table.size : at + length;
	if (first >= end)
		return false;
	bytes = (const uint8_t *)section->places + (first - from);
	changed = memcmp(section->buffer + (first - at), bytes, end - first) != 0;
	memcpy(section->buffer + (first - at), bytes, end - first);
	return changed;
}

/* Rewrites bytes from..to of the section, which begin with that many chunk records. */
static int reindex_part(struct reindex_section *section, uint64_t from, uint64_t to, uint64_t records,
			struct error *err)
{
	const uint64_t whole = reindex_step(section->index);
	const uint64_t most = whole / index_record_size(section->index->shape.chunk_sum);
	const uint8_t *bytes = section->index->map;
	uint64_t step, count, number = 0;
	bool changed;
	int r = 0;

	for (uint64_t at = from; r == 0 && at < to; at += step, records -= count, number += count) {
		step = to - at < whole ? to - at : whole;
		count = records < most ? records : most;
		memcpy(section->buffer, bytes + at, step);
		changed = reindex_patch(section, number, count);
		changed |= reindex_put_places(section, at, step);
		sha256_add(section->sha, section->buffer, step);
		r = interrupt_check(err);
		if (r == 0 && (changed || reindex_is_in_victim(section, at, step)))
			r = reindex_write(section, step, err);
		else if (r == 0)
			r = reindex_keep(section, at, step, err);
	}
	return r;
}

static int reindex_parts(struct reindex_section *section, struct error *err)
{
	const struct index_shape *shape = &section->version->shape;
	struct index_layout layout;
	int r;

	r = index_layout(shape, &layout, err);
	if (r == 0)
		r = reindex_part(section, 0, layout.chunks, 0, err);
	if (r == 0)
		r = reindex_part(section, layout.chunks, layout.classes, shape->chunk_count, err);
	if (r == 0)
		r = reindex_part(section, layout.classes, layout.length, 0, err);
	return r;
}

static int reindex_index(struct reindex *reindex, const struct version *version, struct version *fresh,
			 struct error *err)
{
	auto_free uint8_t *buffer = huge_alloc(REINDEX_MOST);
	struct reindex_section section = {
		.reindex = reindex, .version = version, .buffer = buffer, .sha = sha256_new(),
		.list = &fresh->index.extents
	};
	struct index *index = NULL;
	int r;

	r = buffer && section.sha ? 0 : error_no_memory(err);
	if (r == 0)
		r = index_load(backing_of(reindex->source, &reindex->catalogue->members), version, &index, err);
	section.index = index;
	if (r == 0)
		r = reindex_find_files(index, &section.files, err);
	if (r == 0)
		r = rerank_table(index, version, reindex->chunks, &section.places, err);
	if (r == 0)
		r = reindex_parts(&section, err);
	if (r == 0)
		r = sha256_end(section.sha, fresh->index.sha256, err);
	free(section.places);
	bits_close(&section.files);
	index_close(index);
	sha256_free(section.sha);
	return r;
}

/* --- a version --- */

static int reindex_extent(struct reindex *reindex, struct extent *extent, struct error *err)
{
	uint64_t to;
	int r;

	if (!victims_touches(reindex->line, reindex->victims, extent->address, extent->length))
		return 0;
	r = relocate_copy(reindex->sections, extent->address, round_up(extent->length, DSFS_BLOCK), &to, err);
	if (r == 0)
		extent->address = to;
	return r;
}

/* Makes the list of a section's extents, each where it was or moved. */
static int reindex_list(struct reindex *reindex, const struct extent_list *list, struct extent_list *ret,
			struct error *err)
{
	int r = extent_list_copy(list, ret, err);

	for (uint32_t i = 0; r == 0 && i < ret->count; i++)
		r = reindex_extent(reindex, &ret->items[i], err);
	return r;
}

int reindex_version(struct reindex *reindex, const struct version *version, struct version *ret, struct error *err)
{
	struct version fresh = *version;
	int r;

	version_disown_lists(&fresh);
	r = version_copy_signatures(version, &fresh, err);
	if (r == 0)
		r = reindex_index(reindex, version, &fresh, err);
	if (r == 0)
		r = reindex_list(reindex, &version->source.extents, &fresh.source.extents, err);
	if (r == 0)
		r = reindex_list(reindex, &version->block_sums.extents, &fresh.block_sums.extents, err);
	if (r < 0) {
		version_free(&fresh);
		return r;
	}
	*ret = fresh;
	return 0;
}

/* --- checking --- */

struct reindex_use {
	struct line line; /* with present sizes: files may have grown */
	struct bits segments;
};

static void reindex_add_use(void *argument, uint64_t address, uint64_t length)
{
	struct reindex_use *use = argument;

	line_mark(&use->line, &use->segments, use->line.segment, address, length);
}

static void reindex_add_uses(struct reindex_use *use, const struct extent_list *list)
{
	for (uint32_t i = 0; i < list->count; i++)
		reindex_add_use(use, list->items[i].address, list->items[i].length);
}

static int reindex_find_use(const struct reindex *reindex, const struct version *version, struct reindex_use *use,
			    struct error *err)
{
	uint8_t digest[sizeof(version->digest)];
	struct index *index;
	int r;

	r = index_load(backing_of(reindex->source, &reindex->catalogue->members), version, &index, err);
	if (r < 0)
		return r;
	r = dump_digest(index, digest, err);
	if (r == 0 && memcmp(digest, version->digest, sizeof(digest)) != 0)
		r = error_set(err, -EBADMSG, "version '%s': its digest would change", version->label);
	if (r == 0)
		r = live_extents_walk(index, reindex_add_use, use, err);
	index_close(index);
	reindex_add_uses(use, &version->index.extents);
	reindex_add_uses(use, &version->source.extents);
	reindex_add_uses(use, &version->block_sums.extents);
	return r;
}

static int reindex_use_list(const struct reindex_use *use, struct extent_list *list, struct error *err)
{
	uint64_t segment = use->line.segment;
	int r = 0;

	for (uint64_t s = bits_next(&use->segments, 0, true); r == 0 && s < use->segments.count;
	     s = bits_next(&use->segments, s + 1, true))
		r = extent_list_add(list, line_address(&use->line, s * segment), segment, err);
	return r;
}

static int reindex_check_victims(const struct reindex *reindex, const struct reindex_use *use,
				 const struct version *version, struct error *err)
{
	uint64_t segment = use->line.segment;

	for (uint64_t s = bits_next(reindex->victims, 0, true); s < reindex->victims->count;
	     s = bits_next(reindex->victims, s + 1, true))
		if (victims_touches(&use->line, &use->segments, line_address(reindex->line, s * segment), 1))
			return error_set(err, -EBADMSG,
					 "version '%s': part of it would stay in a segment that is freed",
					 version->label);
	return 0;
}

int reindex_check(const struct reindex *reindex, struct version *version, struct error *err)
{
	struct reindex_use use = { 0 };
	int r;

	r = line_open(reindex->source, reindex->catalogue, reindex->line->segment, &use.line, err);
	if (r == 0)
		r = bits_open(&use.segments, line_length(&use.line) / use.line.segment, err);
	if (r == 0)
		r = reindex_find_use(reindex, version, &use, err);
	if (r == 0)
		r = reindex_check_victims(reindex, &use, version, err);
	if (r == 0)
		r = reindex_use_list(&use, &version->segments, err);
	line_close(&use.line);
	bits_close(&use.segments);
	return r;
}
