/* SPDX-License-Identifier: MIT */
/* What is alive on a volume, and which of its segments are worth emptying. Where there are groups, a segment is the
 * data column of one, and stands for all of it. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/source.h"
#include "image/catalogue.h"
#include "image/superblock.h"
#include "volume/line.h"

struct victims_version {
	struct bits segments; /* that hold something of it */
	bool is_affected;     /* it lists a victim */
	bool is_moved;        /* bytes that a mount of it reads lie in a victim */
};

struct victims {
	struct source *source;
	const struct superblock *super;
	const struct catalogue *catalogue;
	struct line line;     /* of which the maps are */
	struct bits live;     /* blocks that some version uses; until victims_choose() */
	struct bits chosen;   /* segments to be emptied */
	struct bits moving;   /* blocks that go with them */
	struct bits inside;   /* blocks in the middle of what must stay together */
	struct victims_version *versions; /* as in the catalogue */
	uint32_t version_count;
	uint64_t count;       /* of the chosen */
	uint64_t dead_bytes;  /* of the victims */
};

/* Reads the index of every version, one at a time. Super and catalogue must stay as they are. Groups
 * have one data column. */
must_check int victims_open(struct source *source, const struct superblock *super, const struct catalogue *catalogue,
			    struct victims *ret, struct error *err);
/* Picks among the segments of which less than below percent is alive, the emptiest first, so that what is gained is
 * the most that is possible with room bytes of free space, if it is worth it. -ENOSPC: no room for even one. */
must_check int victims_pick(struct victims *victims, unsigned below, uint64_t room, struct error *err);
/* The same, and finds what lies in them. */
must_check int victims_choose(struct victims *victims, unsigned below, uint64_t room, struct error *err);
void victims_close(struct victims *victims); /* a zeroed one as well */

/* Any of these bytes in one of the segments? */
static inline bool victims_touches(const struct line *line, const struct bits *segments, uint64_t address,
				   uint64_t length)
{
	return line_touches(line, segments, line->segment, address, length);
}
