/* SPDX-License-Identifier: MIT */
/* Owns the map of a volume's content and its sums: the chunks, index, source and block checksum sections of all
 * versions. Code that compares, copies or mends columns asks here what they must contain. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/source.h"
#include "image/catalogue/catalogue.h"
#include "image/codec.h"

#define CONTENT_PIECE_MAX (UINT64_C(1) << DSFS_CHUNK_LOG_MAX) /* bytes of a piece, stored or not */

enum content_kind {
	CONTENT_CHUNK,
	CONTENT_INDEX,  /* a step of an index section */
	CONTENT_SOURCE, /* a step of a source section */
	CONTENT_HEAD,   /* a step of the head of a block checksum section */
	CONTENT_PAGE,   /* a page of a block checksum section */
};

/* A piece: bytes that have a sum of their own. A section only has a sum as a whole: it is read and checked when the
 * map is opened, and sums of its steps are made if it was right. A piece lies in one segment. */
struct content_piece {
	uint64_t address; /* address, in a data column where there are groups */
	uint64_t sum;     /* XXH3-64 of its content */
	uint64_t number;  /* of a chunk's record, else of the step or page in its section */
	uint32_t stored;  /* bytes on the volume */
	uint32_t length;  /* bytes of content */
	uint16_t version; /* index in the catalogue of the first version that has it */
	uint8_t kind;     /* CONTENT_* */
	uint8_t codec;
	bool is_lost;     /* its section could not be read intact: sum means nothing */
};

struct content_pieces {
	struct content_piece *items;
	size_t count, room;
};

struct content_map;

/* Opens a map, and reads the sections of all versions. source and catalogue stay the caller's, and must not change.
 * Damaged sections are no failure: content_map_problem() tells them. -EINTR: a signal came. batch: pieces in memory at
 * once, unless pieces overlap; 0: 512 Ki, or an eighth of all chunk records. */
must_check int content_map_open(struct source *source, const struct catalogue *catalogue, size_t batch,
				struct content_map **ret, struct error *err);
void content_map_close(struct content_map *map);
/* Returns why the first unreadable section of this version could not be read; NULL: all could. */
const struct error *content_map_problem(const struct content_map *map, uint32_t version);

/* Finds the pieces that overlap these bytes of a segment, in the order of addresses, equal records once. Any thread
 * may call it; *ret belongs to the caller, who zeroes it before and frees it after the last call. Ask in the order of
 * addresses: each step back costs a pass over the indexes of all versions. */
must_check int content_map_pieces(struct content_map *map, uint64_t address, uint64_t length,
				  struct content_pieces *ret, struct error *err);
void content_map_free_pieces(struct content_pieces *pieces);
/* Whether bytes of this segment that no piece covers are surely no content; false: a version that has the segment
 * could not be read. Any thread may call it, after it asked for the pieces. */
bool content_map_is_known(struct content_map *map, uint64_t address);

/* Checks stored bytes against the piece. -EBADMSG: they differ, or the piece is lost. scratch: CONTENT_PIECE_MAX bytes
 * of the calling thread, as is codec. */
must_check int content_map_check(const struct content_piece *piece, const void *stored, struct codec *codec,
				 void *scratch, struct error *err);
