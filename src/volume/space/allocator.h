/* SPDX-License-Identifier: MIT */
/* Decides where the next bytes of a volume go. A volume of one member has one lane: its free space. Otherwise lane n
 * takes the bytes whose data column is on member n, and goes from one group of segments to the next. README.md has the
 * rules. */
#pragma once
#include "image/members/members.h"
#include "volume/space/bits.h"
#include "volume/space/space.h"

#define ALLOCATOR_CLASSES 64u /* size classes: log2 of a length */

struct lane {
	struct space space;      /* on the data column's member; its runs are the groups' segments */
	uint32_t *groups;        /* for each run the number of its group in the table */
	uint32_t columns[DSFS_COPIES_MAX]; /* members: first that of the data column, then those of its copies */
	uint32_t column_count; /* 0: the data column's member is missing, so nothing goes here */
	uint64_t weight;         /* capacity of the member, relative to the others' */
	uint64_t bytes, class_bytes[ALLOCATOR_CLASSES]; /* bytes placed here, all and by class */
};

/* Describes a member: its capacity, and the catalogue that takes space outside groups. */
struct allocator_member {
	uint64_t capacity;       /* bytes; SPACE_ENDLESS: a file */
	struct extent catalogue; /* the one in force, on this member; length 0: none */
};

struct allocator {
	struct lane *lanes;
	uint32_t lane_count;
	uint32_t current;        /* the chosen lane */
	struct members *members; /* the catalogue's table, to which new groups are added; NULL: one member */
	struct allocator_member *list; /* a copy of the caller's list */
	struct bits *used;       /* for each member, the segments that belong to a group or are not meant for groups */
	uint64_t segment, birth; /* birth: superblock sequence of this publish */
	uint64_t wanted;         /* bytes that the publish takes at most, for messages; 0: unknown */
	uint64_t total, grown;   /* bytes of the volume on devices, and of these devices behind it; 0: there are none */
	uint64_t held_below;     /* shared bytes that have fewer copies than new bytes get */
};

/* Opens the volume's only member by space_open(); the arguments are the same. */
must_check int allocator_open(struct allocator *allocator, const struct catalogue *catalogue,
			      const struct superblock *super, uint32_t segment_log, uint64_t capacity,
			      struct error *err);
/* Returns the bytes that one of several members needs to hold catalogues and a segment, without the reserve of a
 * device. */
uint64_t allocator_least(uint64_t segment);
/* Opens one lane for each member that is not stale. The copies of a lane go to the members after its own, in other
 * failure domains as far as there are any. If too few members are there, copies are planned on stale ones, which get
 * them later. */
must_check int allocator_open_members(struct allocator *allocator, struct members *members,
				      const struct allocator_member *list, uint32_t copies, uint64_t birth,
				      struct error *err);
void allocator_close(struct allocator *allocator);

/* Chooses the lane with the fewest bytes of their size class for the next length bytes, and counts them there. */
void allocator_choose(struct allocator *allocator, uint64_t length);
/* Chooses the lane with the fewest bytes, relative to its weight, whatever their size class, and counts them there. */
void allocator_level(struct allocator *allocator, uint64_t length);
/* Chooses the lane of this member. */
void allocator_prefer(struct allocator *allocator, uint32_t member);
/* Stops filling the group with this data column. Must be called before anything is taken. */
void allocator_leave(struct allocator *allocator, uint64_t column);
/* Prepares for the pieces of a large file. A volume of one lane puts them into one run if it can. */
void allocator_begin_large(struct allocator *allocator, uint64_t length);
/* Takes length bytes in the chosen lane, or the next one with room, which becomes the chosen one. False: none has. */
must_check bool allocator_take(struct allocator *allocator, uint64_t length, enum space_align align,
			       uint64_t *ret_address);
/* Returns how many copies the bytes at this address have, and their addresses, itself included. */
uint32_t allocator_copies(const struct allocator *allocator, uint64_t address, uint64_t ret[DSFS_COPIES_MAX]);
/* Returns a failure domain that would hold two copies of the same bytes; NULL: there is none. */
const char *allocator_shared_domain(const struct allocator *allocator);
/* Returns the bytes from this offset to the end of its group's segment; UINT64_MAX without groups. */
uint64_t allocator_room_in_group(const struct allocator *allocator, uint64_t offset);
/* Leaves the padding of a lane unused. */
void allocator_forget_gaps(struct allocator *allocator, uint32_t lane);
/* Notes bytes of older versions that the new version shares. */
void allocator_hold(struct allocator *allocator, uint64_t address, uint64_t length);
/* Takes space for a catalogue on this member, outside groups. False: there is no room. */
must_check bool allocator_take_catalogue(struct allocator *allocator, uint32_t member, uint64_t length,
					 uint64_t *ret_offset);
/* Notes that the catalogue in force on this member lies there now. */
void allocator_keep_catalogue(struct allocator *allocator, uint32_t member, struct extent catalogue);

uint64_t allocator_free(const struct allocator *allocator);
/* Writes -ENOSPC "volume is full", why, how much is free, and whether devices have grown. what: has no room. */
int allocator_full(const struct allocator *allocator, const char *what, struct error *err);
/* The same for bytes that must lie in one piece. */
int allocator_full_piece(const struct allocator *allocator, uint64_t length, struct error *err);
uint64_t allocator_taken(const struct allocator *allocator);
/* Returns the offset behind the last byte taken in the lane of this member. */
uint64_t allocator_end(const struct allocator *allocator, uint32_t member);
/* Adds the segments of the new version to a list, as addresses of data columns. */
must_check int allocator_segments(const struct allocator *allocator, struct extent_list *list, struct error *err);
/* Enters into the table how far each group is filled, and the member sizes that this needs. */
void allocator_settle(struct allocator *allocator);
