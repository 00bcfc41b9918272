/* SPDX-License-Identifier: MIT */
/* Reads a column of a group from its copies, and checks all content in it by its sums: content that is wrong on one
 * member is taken from another. */
#pragma once
#include "volume/content_map.h"

/* Reads one column after another. A zeroed reader can be closed. */
struct column_reader {
	struct source *source;
	struct content_map *map;
	struct content_pieces pieces;
	struct codec *codec;
	uint8_t *buffer, *other, *scratch;
	uint64_t data;                    /* address of the group's data column */
	uint64_t copies[DSFS_COPIES_MAX]; /* addresses of the columns to read, the best first */
	uint32_t count;
	uint64_t tail, at, have;          /* of the column: its end, the window's offset, bytes in the window */
	uint64_t handed;                  /* bytes of the window that were handed out */
	uint64_t read_bytes;              /* bytes read from columns */
	uint64_t wrong, damaged;          /* pieces that were wrong in one column, and in all columns */
};

/* Opens a reader, and reads the sections of all versions. source and catalogue stay the caller's, and must not
 * change. */
must_check int column_reader_open(struct column_reader *reader, struct source *source,
				  const struct catalogue *catalogue, struct error *err);
void column_reader_close(struct column_reader *reader);
/* Begins a column. Columns must come in the order of their groups' data. */
void column_reader_begin(struct column_reader *reader, uint64_t data, const uint64_t *copies, uint32_t count,
			 uint64_t tail);
/* Returns the next bytes, whole blocks, valid until the next call; *ret_length 0: there are no more. Content that is
 * wrong in all columns is returned as it is, and counted. */
must_check int column_reader_next(struct column_reader *reader, const uint8_t **ret, uint64_t *ret_at,
				  uint64_t *ret_length, struct error *err);
