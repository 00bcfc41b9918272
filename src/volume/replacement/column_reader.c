/* SPDX-License-Identifier: MIT */
/* Moves a window over the column. A piece that is cut by the end of the window stays in it for the next step, so
 * nothing is read twice. */
#include "volume/replacement/column_reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/round.h"
#include "image/members/address.h"

#define READER_WINDOW (2 * CONTENT_PIECE_MAX)

void column_reader_close(struct column_reader *reader)
{
	content_map_close(reader->map);
	content_map_free_pieces(&reader->pieces);
	codec_free(reader->codec);
	free(reader->buffer);
	free(reader->other);
	free(reader->scratch);
	*reader = (struct column_reader){ 0 };
}

int column_reader_open(struct column_reader *reader, struct source *source, const struct catalogue *catalogue,
		       struct error *err)
{
	int r = 0;

	*reader = (struct column_reader){ .source = source, .codec = codec_new() };
	reader->buffer = aligned_alloc(DSFS_BLOCK, READER_WINDOW);
	reader->other = aligned_alloc(DSFS_BLOCK, CONTENT_PIECE_MAX + 2 * DSFS_BLOCK);
	reader->scratch = malloc(CONTENT_PIECE_MAX);
	if (!reader->codec || !reader->buffer || !reader->other || !reader->scratch)
		r = error_no_memory(err);
	if (r == 0)
		r = content_map_open(source, catalogue, 0, &reader->map, err);
	if (r < 0)
		column_reader_close(reader);
	return r;
}

void column_reader_begin(struct column_reader *reader, uint64_t data, const uint64_t *copies, uint32_t count,
			 uint64_t tail)
{
	reader->data = data;
	reader->count = count;
	memcpy(reader->copies, copies, count * sizeof(*copies));
	reader->tail = tail;
	reader->at = reader->have = reader->handed = 0;
}

static int column_reader_read(struct column_reader *reader, uint32_t copy, uint64_t at, uint8_t *to, uint64_t length,
			      struct error *err)
{
	uint64_t address = reader->copies[copy] + at;
	int r = source_read(reader->source, address_member(address), address_offset(address), to, length, err);

	reader->read_bytes += r == 0 ? length : 0;
	return r;
}

static void column_reader_move_on(struct column_reader *reader)
{
	reader->have -= reader->handed;
	reader->at += reader->handed;
	memmove(reader->buffer, reader->buffer + reader->handed, reader->have);
	reader->handed = 0;
}

static int column_reader_read_block(struct column_reader *reader, uint64_t at, uint8_t *to, uint64_t length,
				    struct error *err)
{
	uint64_t address = reader->copies[0] + at;
	struct error why = { 0 };
	int r = -EIO;

	for (uint32_t i = 0; r < 0 && i < reader->count; i++)
		r = column_reader_read(reader, i, at, to, length, i ? NULL : &why);
	if (r < 0)
		return error_set(err, r,
				 "%" PRIu64 " bytes at offset %" PRIu64 " of member %" PRIu32 " cannot be read, and no "
				 "other member that is there has them (%s): bring a missing member back, or remove "
				 "the versions that have them, 'datasetfsctl verify' names their files",
				 length, address_offset(address), address_member(address), why.reason);
	return 0;
}

/* Reads block by block: two members may both have unreadable blocks, but different ones. */
static int column_reader_fill_blocks(struct column_reader *reader, uint64_t want, struct error *err)
{
	uint64_t length;
	int r = 0;

	for (uint64_t have = reader->have; r == 0 && have < want; have += length) {
		length = want - have < DSFS_BLOCK ? want - have : DSFS_BLOCK;
		r = column_reader_read_block(reader, reader->at + have, reader->buffer + have, length, err);
	}
	return r;
}

/* Fills the window from the first copy that can be read. */
static int column_reader_fill(struct column_reader *reader, struct error *err)
{
	uint64_t left = reader->tail - reader->at, want = left < READER_WINDOW ? left : READER_WINDOW;
	int r = want > reader->have ? error_set(err, -ENODEV, "no member has it") : 0;

	for (uint32_t i = 0; r < 0 && i < reader->count; i++)
		r = column_reader_read(reader, i, reader->at + reader->have, reader->buffer + reader->have,
				       want - reader->have, err);
	if (r < 0 && reader->count)
		r = column_reader_fill_blocks(reader, want, err);
	if (r == 0)
		reader->have = want;
	return r;
}

/* Takes a wrong piece from another copy, or counts it as damaged. at: offset of the piece in the column. */
static void column_reader_mend(struct column_reader *reader, const struct content_piece *piece, uint64_t at)
{
	uint64_t from = round_down(at, DSFS_BLOCK), end = round_up(at + piece->stored, DSFS_BLOCK);
	uint8_t *found = reader->other + (at - from);

	reader->wrong++;
	for (uint32_t i = 0; !piece->is_lost && i < reader->count; i++)
		if (column_reader_read(reader, i, from, reader->other, end - from, NULL) == 0 &&
		    content_map_check(piece, found, reader->codec, reader->scratch, NULL) == 0) {
			memcpy(reader->buffer + (at - reader->at), found, piece->stored);
			return;
		}
	reader->damaged++;
}

/* Checks the pieces in the window. Returns the beginning of the first piece that its end cuts, else its end. */
static uint64_t column_reader_check(struct column_reader *reader)
{
	uint64_t end = reader->at + reader->have;

	for (size_t i = 0; i < reader->pieces.count; i++) {
		const struct content_piece *piece = &reader->pieces.items[i];
		uint64_t at = piece->address - reader->data;

		if (piece->address < reader->data + reader->at) /* checked in the window before */
			continue;
		if (at + piece->stored > reader->at + reader->have)
			end = at < end ? at : end;
		else if (content_map_check(piece, reader->buffer + (at - reader->at), reader->codec, reader->scratch,
					   NULL) < 0)
			column_reader_mend(reader, piece, at);
	}
	return end;
}

int column_reader_next(struct column_reader *reader, const uint8_t **ret, uint64_t *ret_at, uint64_t *ret_length,
		       struct error *err)
{
	uint64_t end;
	int r;

	*ret_length = 0;
	column_reader_move_on(reader);
	if (reader->at == reader->tail)
		return 0;
	r = column_reader_fill(reader, err);
	if (r == 0)
		r = content_map_pieces(reader->map, reader->data + reader->at, reader->have, &reader->pieces, err);
	if (r < 0)
		return r;
	end = column_reader_check(reader);
	end = end == reader->tail ? end : round_down(end, DSFS_BLOCK);
	*ret = reader->buffer;
	*ret_at = reader->at;
	*ret_length = reader->handed = end - reader->at;
	return 0;
}
