/* SPDX-License-Identifier: MIT */
/* Reads each version once for every copy of its bytes. */
#include "format/crash_content.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "format/crash_trace.h"
#include "image/catalogue/block_sums.h"
#include "image/catalogue/catalogue.h"
#include "image/catalogue/dump.h"
#include "image/catalogue/index_load.h"
#include "image/chunk.h"
#include "image/index.h"
#include "image/inode.h"
#include "image/members/address.h"

/* The volume as it is when only one copy of each byte is read. */
struct copies {
	struct source source;
	struct source *volume;
	const struct members *members;
	uint32_t number; /* of the copy; what has fewer is read in the last one */
};

static int copies_read(struct source *source, uint32_t member, uint64_t offset, void *buffer, size_t length,
		       struct error *err)
{
	const struct copies *copies = (const struct copies *)source;
	uint64_t segment = copies->members->count ? UINT64_C(1) << copies->members->segment_log : UINT64_MAX;
	uint64_t places[DSFS_COPIES_MAX], place;
	int r = 0;

	while (r == 0 && length) {
		uint64_t piece = segment - offset % segment;
		uint32_t count = members_copies(copies->members, address_make(member, offset), places);

		if (piece > length)
			piece = length;
		place = places[copies->number < count ? copies->number : count - 1];
		r = source_read(copies->volume, address_member(place), address_offset(place), buffer, piece, err);
		offset += piece;
		buffer = (uint8_t *)buffer + piece;
		length -= piece;
	}
	return r;
}

static uint64_t copies_size(struct source *source, uint32_t member)
{
	return source_size(((struct copies *)source)->volume, member);
}

static const struct source_ops copies_ops = { .read = copies_read, .size = copies_size };

static uint32_t copies_most(const struct members *members)
{
	uint32_t most = 1;

	for (uint32_t i = 0; i < members->group_count; i++)
		if (1u + members->groups[i].redundant > most)
			most = 1u + members->groups[i].redundant;
	return most;
}

/* --- one version --- */

/* The sums of the blocks of a chunk that is right. */
static void check_row(struct block_sums_view *rows, const struct chunk *chunk, uint8_t *content)
{
	struct iovec piece = { content, chunk->length };
	struct error err = { 0 };
	const uint8_t *row;
	int r = block_sums_view_row(rows, chunk->number, &row, &err);

	if (r > 0)
		r = sum_check_blocks(&chunk->sum, chunk->length, row, 0, &piece, 1, &err);
	if (r < 0)
		die("block checksums", err.reason);
}

static void check_chunk(struct source *source, struct index *index, const struct chunk *chunk, struct codec *codec,
			struct block_sums_view *rows)
{
	static uint8_t stored[1u << DSFS_CHUNK_LOG_MAX], content[1u << DSFS_CHUNK_LOG_MAX];
	struct error err = { 0 };

	if (chunk_is_inline(chunk))
		memcpy(stored, chunk_inline_bytes(index, chunk), chunk->stored);
	else if (source_read(source, address_member(chunk->address), address_offset(chunk->address), stored,
			     chunk->stored, &err) < 0)
		die("read", err.reason);
	if (chunk_decode(chunk, codec, stored, content, &err) < 0)
		die("content", err.reason);
	if (chunk->codec == DSFS_CODEC_RAW && !chunk_is_inline(chunk))
		check_row(rows, chunk, content);
}

static void check_chunks(struct source *source, struct index *index, struct codec *codec, struct block_sums_view *rows)
{
	struct error err = { 0 };
	struct inode inode;
	struct chunk chunk;

	for (uint64_t ordinal = 1; ordinal <= index->shape.inode_count; ordinal++) {
		if (inode_get(index, ordinal, &inode, &err) < 0)
			die("inode", err.reason);
		for (uint64_t i = 0; S_ISREG(inode.mode) && i < inode_chunk_count(index, &inode); i++) {
			if (chunk_get(index, &inode, i, &chunk, &err) < 0)
				die("chunk", err.reason);
			if (!chunk_is_hole(&chunk))
				check_chunk(source, index, &chunk, codec, rows);
		}
	}
}

static void check_version(struct source *source, const struct members *members, const struct version *version,
			  struct codec *codec)
{
	struct error err = { 0 };
	struct block_sums_view *rows = NULL;
	uint8_t digest[32];
	struct index *index;
	struct block_sums *block_sums;

	if (index_load(backing_of(source, members->count ? members : NULL), version, &index, &err) < 0 ||
	    dump_digest(index, digest, &err) < 0)
		die(version->label, err.reason);
	if (memcmp(digest, version->digest, sizeof(digest)) != 0)
		die(version->label, "its digest is another");
	if (block_sums_load(backing_of(source, NULL), version, &block_sums, &err) < 0 ||
	    block_sums_view_new(block_sums, source, &rows, &err) < 0)
		die(version->label, err.reason);
	check_chunks(source, index, codec, rows);
	block_sums_view_free(rows);
	block_sums_close(block_sums);
	index_close(index);
}

/* --- all of them --- */

/* As the state in force has them: a crash may leave files longer. */
static void describe_sizes(FILE *out, const struct superblock *super, const struct members *members)
{
	if (!members->count)
		fprintf(out, "; %" PRIu64, super->member_size);
	for (uint32_t i = 0; i < members->count; i++)
		fprintf(out, "%s%" PRIu64, i ? " " : "; ", members_size(members, i));
}

char *content_describe(struct multi_member *volume, struct codec *codec)
{
	struct catalogue catalogue = { 0 };
	struct copies copies = { .source.ops = &copies_ops, .volume = &volume->source, .members = &catalogue.members };
	struct superblock super;
	struct error err = { 0 };
	char *text = NULL;
	size_t size;
	FILE *out;

	if (catalogue_load(&volume->source, NULL, &super, &catalogue, &err) < 0)
		die("the volume does not open", err.reason);
	out = open_memstream(&text, &size);
	if (!out)
		abort();
	for (uint32_t i = 0; i < catalogue.version_count; i++) {
		for (copies.number = 0; copies.number < copies_most(&catalogue.members); copies.number++)
			check_version(&copies.source, &catalogue.members, &catalogue.versions[i], codec);
		fprintf(out, "%s %" PRIu64 ",", catalogue.versions[i].label, catalogue.versions[i].sequence);
	}
	fprintf(out, "; %" PRIu64, catalogue.current);
	describe_sizes(out, &super, &catalogue.members);
	fclose(out);
	catalogue_free(&catalogue);
	return text;
}
