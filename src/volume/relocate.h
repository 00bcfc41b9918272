/* SPDX-License-Identifier: MIT */
/* Copies runs of bytes to other places on a volume, remembers where they went, and verifies that they arrived. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/source.h"
#include "volume/allocator.h"
#include "volume/line.h"

struct relocate_piece {
	uint64_t from, to, length; /* addresses; whole blocks */
};

/* What was read last, and what lies behind it. */
struct relocate_window {
	uint8_t *bytes;
	uint64_t at, length;
	const struct members *members; /* by which another copy may be read; NULL: what lies there and nothing else */
	uint32_t turn;                 /* the number of the copy that is read */
};

struct relocate {
	struct source *source;
	struct allocator *allocator; /* free places are taken from it */
	bool is_rehearsal;           /* that is all: nothing is read or written */
	struct relocate_piece *pieces;
	size_t count, room;
	struct relocate_window from, to;
	uint8_t *unwritten; /* copies that lie one behind the other */
	uint64_t unwritten_at, unwritten_length;
};

/* members: those of the catalogue from which the addresses are. */
must_check int relocate_open(struct source *source, const struct members *members, struct allocator *allocator,
			     bool rehearse, struct relocate *ret, struct error *err);
void relocate_close(struct relocate *relocate); /* a zeroed one as well */
/* Copies length bytes, whole blocks, into one piece of free space, on the same member if it has room. -ENOSPC "volume
 * is full". */
must_check int relocate_copy(struct relocate *relocate, uint64_t from, uint64_t length, uint64_t *ret_to,
			     struct error *err);
/* Copies all blocks of the map, in pieces of a part of a segment. A piece ends with a block that is not inside of what
 * must stay together; the next one begins with it again. No piece reaches into another group. */
must_check int relocate_blocks(struct relocate *relocate, const struct line *line, const struct bits *blocks,
			       const struct bits *inside, struct error *err);
/* After a flush: reads everything once more, from its old place and all its new ones, and compares. What has several
 * copies is read from another one than before. */
must_check int relocate_verify(struct relocate *relocate, struct error *err);
/* Where bytes went whose blocks were copied in ascending order; 0 when they stay. */
uint64_t relocate_find(const struct relocate *relocate, uint64_t address, uint64_t length);
/* Bytes copied: more than there are in the blocks of a map, as a block that two pieces share goes with either. */
uint64_t relocate_bytes(const struct relocate *relocate);
