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
#include "image/sums/sum.h"

#define CONTENT_PIECE_MAX (UINT64_C(1) << DSFS_CHUNK_LOG_MAX) /* bytes of a piece, stored or not */

enum content_kind {
	CONTENT_CHUNK,
	CONTENT_INDEX,  /* a step of an index section */
	CONTENT_SOURCE, /* a step of a source section */
	CONTENT_HEAD,   /* a step of the head of a block checksum section */
	CONTENT_PAGE,   /* a page of a block checksum section */
};

/* A piece: bytes that have a sum of their own. A section has one sum for the whole: it is read and checked when the map
 * is opened, and if it is right, each of its steps gets a sum. A piece lies in one segment. */
struct content_piece {
	uint64_t address; /* address, in a data column where there are groups */
	struct sum sum;   /* of its content */
	uint64_t number;  /* of a chunk's record, else of the step or page in its section */
	uint32_t stored;  /* bytes on the volume */
	uint32_t length;  /* bytes of content */
	uint16_t version; /* index in the catalogue of the first version that has it */
	uint8_t kind;     /* CONTENT_* */
	uint8_t codec;
	bool is_lost;     /* its section could not be read intact, so sum is not valid */
};

struct content_pieces {
	struct content_piece *items;
	size_t count, room;
};

struct content_map;

/* Opens a map, and reads the sections of all versions. source and catalogue stay the caller's, and must not change.
 * Damaged sections are not a failure: content_map_problem() reports them. -EINTR: a signal came. batch: how many pieces
 * are in memory at once, or more if pieces overlap; 0: an eighth of all chunk records, at least 512 Ki. */
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
/* True if bytes of this segment that no piece covers certainly hold no content; false if a version that has the segment
 * could not be read. Any thread may call it, after content_map_pieces() for the segment. */
bool content_map_is_known(struct content_map *map, uint64_t address);

/* Checks stored bytes against the piece. -EBADMSG: they differ, or the piece is lost. scratch has CONTENT_PIECE_MAX
 * bytes; like codec, it belongs to the calling thread. */
must_check int content_map_check(const struct content_piece *piece, const void *stored, struct codec *codec,
				 void *scratch, struct error *err);
