/* SPDX-License-Identifier: MIT */
/* Where the next bytes of a volume go. A volume of one member has one lane: its free space. Otherwise lane n takes what
 * has its data column on member n, and goes from one group of segments to the next. README.md has the rules. */
#pragma once
#include "image/members.h"
#include "volume/bits.h"
#include "volume/space.h"

#define ALLOCATOR_CLASSES 64u /* log2 of a length */

struct lane {
	struct space space;      /* of the data column's member; its runs are the groups' segments */
	uint32_t *groups;        /* for each run its group in the table */
	uint32_t columns[DSFS_COPIES_MAX]; /* members: of the data column first, then of its copies */
	uint32_t column_count; /* 0: the data column's member is missing, so nothing goes there */
	uint64_t weight;         /* what it can hold, in relation to others */
	uint64_t bytes, class_bytes[ALLOCATOR_CLASSES]; /* placed there */
};

/* What a member can hold, and what of it is no group's. */
struct allocator_member {
	uint64_t capacity;       /* SPACE_ENDLESS: a file */
	struct extent catalogue; /* in force, on this member; length 0: none */
};

struct allocator {
	struct lane *lanes;
	uint32_t lane_count;
	uint32_t current;        /* the lane in which bytes are placed now */
	struct members *members; /* the catalogue's; groups that are opened are added to it. NULL: one member */
	struct allocator_member *list; /* as it was given */
	struct bits *used;       /* of each member: its segments that are in a group, or are not for groups */
	uint64_t segment, birth; /* birth: superblock sequence of this publish */
	uint64_t held_below;     /* bytes that are shared and have fewer copies than what is written */
};

/* The volume's only member: space_open(). */
must_check int allocator_open(struct allocator *allocator, const struct catalogue *catalogue,
			      const struct superblock *super, uint32_t segment_log, uint64_t capacity,
			      struct error *err);
/* One lane for each member that is not stale, with copies on the members behind it, on other failure domains as far as
 * there are some; on stale ones, in groups that are yet to be filled there, only where others are too few. */
must_check int allocator_open_members(struct allocator *allocator, struct members *members,
				      const struct allocator_member *list, uint32_t copies, uint32_t segment_log,
				      uint64_t birth, struct error *err);
void allocator_close(struct allocator *allocator);

/* Chooses the lane for the next length bytes: the one with the fewest bytes of their size class. They are counted. */
void allocator_choose(struct allocator *allocator, uint64_t length);
/* The lane of that member is the one that is chosen. */
void allocator_prefer(struct allocator *allocator, uint32_t member);
/* Nothing more goes into the group with this data column. Before anything is taken. */
void allocator_leave(struct allocator *allocator, uint64_t column);
/* For the pieces of a large file, which an only lane puts into one run if it can. */
void allocator_begin_large(struct allocator *allocator, uint64_t length);
/* In the lane that was chosen, or in the next one that has room. False: none has, in one piece. */
must_check bool allocator_take(struct allocator *allocator, uint64_t length, enum space_align align,
			       uint64_t *ret_address);
/* Where these bytes are written: their address and those of their copies. Returns how many. */
uint32_t allocator_copies(const struct allocator *allocator, uint64_t address, uint64_t ret[DSFS_COPIES_MAX]);
/* A failure domain that is to have two copies of the same bytes; NULL: none is. */
const char *allocator_shared_domain(const struct allocator *allocator);
/* Bytes from there to the end of its group's segment. */
uint64_t allocator_room_in_group(const struct allocator *allocator, uint64_t offset);
/* The padding of a lane stays. */
void allocator_forget_gaps(struct allocator *allocator, uint32_t lane);
/* What the new version shares with older ones. */
void allocator_hold(struct allocator *allocator, uint64_t address, uint64_t length);
/* For a catalogue: on this member, where no group is. */
must_check bool allocator_take_catalogue(struct allocator *allocator, uint32_t member, uint64_t length,
					 uint64_t *ret_offset);
/* The catalogue in force on this member lies there now. */
void allocator_keep_catalogue(struct allocator *allocator, uint32_t member, struct extent catalogue);

uint64_t allocator_free(const struct allocator *allocator);
uint64_t allocator_taken(const struct allocator *allocator);
/* Behind the last byte taken in the lane of that member. */
uint64_t allocator_end(const struct allocator *allocator, uint32_t member);
/* Adds the segments of the new version to a list, as addresses of data columns. */
must_check int allocator_segments(const struct allocator *allocator, struct extent_list *list, struct error *err);
/* Enters into the table how far each group was filled, and the sizes that its members need for that. */
void allocator_settle(struct allocator *allocator);
