/* SPDX-License-Identifier: MIT */
/* Finds the live blocks of a volume, and which of its segments are worth emptying. Where there are groups, a segment
 * of a data column stands for its whole group. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/source.h"
#include "image/catalogue/catalogue.h"
#include "image/members/superblock.h"
#include "volume/space/allocator.h"
#include "volume/space/line.h"

struct victims_version {
	struct bits segments; /* segments that hold bytes of the version */
	bool is_affected;     /* the version lists a victim */
	bool is_moved;        /* bytes that a mount of it reads lie in a victim */
};

struct victims {
	struct source *source;
	const struct superblock *super;
	const struct catalogue *catalogue;
	struct line line;     /* the line to which the maps belong */
	struct bits live;     /* blocks that some version uses; until victims_choose() */
	struct bits chosen;   /* segments to be emptied */
	struct bits moving;   /* live blocks in the chosen segments, and of files that reach into them */
	struct bits inside;   /* blocks in the middle of bytes that must stay together */
	struct victims_version *versions; /* in the order of the catalogue */
	uint32_t version_count;
	uint64_t count;       /* number of chosen segments */
	uint64_t dead_bytes;  /* dead bytes in chosen segments */
};

/* Reads the index of every version, one at a time. super and catalogue must not change. Groups must have one data
 * column. */
must_check int victims_open(struct source *source, const struct superblock *super, const struct catalogue *catalogue,
			    struct victims *ret, struct error *err);
/* Chooses segments that are less than `below` percent live, the emptiest first: as many as gain the most space with
 * room bytes for the copies, or none if the gain is not worth the work. -ENOSPC: there is no room for even one. */
must_check int victims_pick(struct victims *victims, unsigned below, uint64_t room, struct error *err);
/* Picks as victims_pick() does, and finds the blocks that must move. */
must_check int victims_choose(struct victims *victims, unsigned below, uint64_t room, struct error *err);
/* Chooses segments so that every member can have its share of the live bytes, by the weights of the lanes: of the
 * members that have more, the emptiest, as many as there is room for. Sets the bytes of the lanes to what stays there.
 * Finds the blocks that must move. */
must_check int victims_level(struct victims *victims, struct allocator *allocator, uint64_t room, struct error *err);
void victims_close(struct victims *victims); /* a zeroed one can be closed, too */

/* Returns whether any of these bytes lies in one of the segments. */
static inline bool victims_touches(const struct line *line, const struct bits *segments, uint64_t address,
				   uint64_t length)
{
	return line_touches(line, segments, line->segment, address, length);
}
