/* SPDX-License-Identifier: MIT */
/* Which bytes of a volume are content, and what their sum is: the chunks, index, source and block checksum sections of
 * all versions. Whoever compares, copies or mends columns asks here what must stand where. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/source.h"
#include "image/catalogue.h"
#include "image/codec.h"

#define CONTENT_PIECE_MAX (UINT64_C(1) << DSFS_CHUNK_LOG_MAX) /* bytes of a piece, stored or not */

enum content_kind {
	CONTENT_CHUNK,
	CONTENT_INDEX,  /* a step of an index section */
	CONTENT_SOURCE, /* of a source section */
	CONTENT_HEAD,   /* of the head of a block checksum section */
	CONTENT_PAGE,   /* a page of one */
};

/* Bytes that have a sum of their own. A section has one only as a whole: when the map is opened, it is read and
 * checked, and sums of its steps are made of what was right. Pieces lie in one segment. */
struct content_piece {
	uint64_t address; /* of a data column, where there are groups */
	uint64_t sum;     /* XXH3-64 of its content */
	uint64_t number;  /* chunk: of its record; else of the step or page in its section */
	uint32_t stored;  /* bytes on the volume */
	uint32_t length;  /* bytes of content */
	uint16_t version; /* the first that has it, by its place in the catalogue */
	uint8_t kind;     /* CONTENT_* */
	uint8_t codec;
	bool is_lost;     /* of a section that could not be read in a way in which it is right: sum says nothing */
};

struct content_pieces {
	struct content_piece *items;
	size_t count, room;
};

struct content_map;

/* Reads the sections of all versions. Both stay the caller's, and the catalogue as it is. Damaged sections are no
 * failure: content_map_problem() has them. -EINTR when a signal came. batch: pieces in memory at once, as far as they
 * lie apart; 0: 512 Ki, or an eighth of all chunk records. */
must_check int content_map_open(struct source *source, const struct catalogue *catalogue, size_t batch,
				struct content_map **ret, struct error *err);
void content_map_close(struct content_map *map);
/* NULL when all sections of the version could be read; otherwise why the first of them could not. */
const struct error *content_map_problem(const struct content_map *map, uint32_t version);

/* What lies in these bytes of a segment, also in part, in the order of addresses; equal records come once. Any thread;
 * *ret belongs to the caller, who zeroes it before and frees it after the last call. Ask in the order of addresses:
 * each step back costs a pass over the indexes of all versions. */
must_check int content_map_pieces(struct content_map *map, uint64_t address, uint64_t length,
				  struct content_pieces *ret, struct error *err);
void content_map_free_pieces(struct content_pieces *pieces);
/* Whether what no piece covers in this segment is surely no content: false when a version that has the segment could
 * not be read. Any thread; after the pieces were asked for. */
bool content_map_is_known(struct content_map *map, uint64_t address);

/* Are these the bytes of the piece? -EBADMSG: no, or it is lost. scratch: CONTENT_PIECE_MAX bytes of the caller's
 * thread, as its codec. */
must_check int content_map_check(const struct content_piece *piece, const void *stored, struct codec *codec,
				 void *scratch, struct error *err);
