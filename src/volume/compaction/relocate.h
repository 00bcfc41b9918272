/* SPDX-License-Identifier: MIT */
/* Copies runs of bytes to other places on a volume, remembers where they went, and verifies that they arrived. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/source.h"
#include "image/members/backing.h"
#include "volume/space/allocator.h"
#include "volume/space/line.h"

struct relocate_piece {
	uint64_t from, to, length; /* addresses; all are whole blocks */
};

/* The bytes that were last read, with some that follow them. */
struct relocate_window {
	uint8_t *bytes;
	uint64_t at, length;
	struct backing backing;
	uint32_t turn; /* number of the copy that is read */
};

struct relocate {
	struct source *source;
	struct allocator *allocator; /* free space is taken from here */
	bool is_rehearsal;           /* only takes space: reads and writes nothing */
	bool levels;                 /* bytes go to the emptiest member; else they stay on theirs if it has room */
	struct relocate_piece *pieces;
	size_t count, room;
	struct relocate_window from, to;
	uint8_t *unwritten; /* copies not written yet, at adjacent addresses */
	uint64_t unwritten_at, unwritten_length;
};

/* Opens a relocation. backing: what the old addresses are read from. */
must_check int relocate_open(struct backing backing, struct allocator *allocator, bool rehearse, struct relocate *ret,
			     struct error *err);
void relocate_close(struct relocate *relocate); /* a zeroed relocation can be closed, too */
/* Copies length bytes, whole blocks, into one piece of free space. -ENOSPC: "volume is full". */
must_check int relocate_copy(struct relocate *relocate, uint64_t from, uint64_t length, uint64_t *ret_to,
			     struct error *err);
/* Copies all blocks of the map, in pieces that are each a part of a segment. A piece ends with a block that is not
 * inside bytes that must stay together; the next piece begins with the same block. No piece reaches into another
 * group. */
must_check int relocate_blocks(struct relocate *relocate, const struct line *line, const struct bits *blocks,
			       const struct bits *inside, struct error *err);
/* Reads everything once more after a flush, from its old place and all its new ones, and compares. Bytes with several
 * copies are read from another copy than before. */
must_check int relocate_verify(struct relocate *relocate, struct error *err);
/* Returns where bytes went; 0: they stay. Blocks must have been copied in ascending order. */
uint64_t relocate_find(const struct relocate *relocate, uint64_t address, uint64_t length);
/* Returns the bytes copied: more than in the map's blocks, as a block that two pieces share is copied with both. */
uint64_t relocate_bytes(const struct relocate *relocate);
