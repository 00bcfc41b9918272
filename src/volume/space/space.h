/* SPDX-License-Identifier: MIT */
/* Owns the free space of a member as runs of bytes, and how much of each run is used. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "image/catalogue/catalogue.h"

struct space_run {
	uint64_t start, at, end; /* bytes start..at are taken by this publish */
};

#define SPACE_GAPS 16u

/* Unused padding in front of a block. */
struct space_gap {
	uint64_t at;
	uint32_t length; /* 0: none */
};

struct space {
	struct space_run *runs;
	uint32_t count;
	uint32_t current;
	struct space_run reserve[2]; /* for catalogues, usually before and behind the one in force */
	uint32_t member;  /* number of the member */
	uint64_t segment; /* bytes of a segment */
	uint8_t *held;    /* a bit for each segment that holds bytes which the new version shares */
	uint64_t held_count;
	uint64_t *columns; /* with several members: the segments to which the bits belong, in order; else NULL */
	struct space_gap gaps[SPACE_GAPS]; /* the largest gaps, to be filled with small pieces */
};

/* The last 64th of a device, within these bounds, is for catalogues. */
#define SPACE_RESERVE_PART 64u
#define SPACE_RESERVE_MIN  (UINT64_C(64) << 10)
#define SPACE_RESERVE_MAX  (UINT64_C(64) << 20)
/* It begins with a segment if it is no more than this part then. */
#define SPACE_RESERVE_WHOLE 8u

#define SPACE_ENDLESS (UINT64_C(1) << 55) /* capacity of a file */

/* Returns the bytes at the end of a device that only catalogues may use. */
uint64_t space_reserved(uint64_t capacity);

/* Finds the free segments: those that neither a version nor the catalogue in force uses. The rest of the segment with
 * the tail comes first. catalogue NULL: a new volume. */
must_check int space_open(struct space *space, const struct catalogue *catalogue, const struct superblock *super,
			  uint32_t segment_log, uint64_t capacity, struct error *err);
/* Finds the space that a publish can use without the volume growing. In a file, catalogues may lie anywhere up to its
 * end. file_size 0: a device. */
must_check int space_open_inside(struct space *space, const struct catalogue *catalogue, const struct superblock *super,
				 uint64_t file_size, struct error *err);
/* Opens one of several members. Its free space comes in segments of groups (space_add()); nothing is free yet.
 * space_hold() takes bytes of its columns. The memory depends on the number of columns, not on the size in the table,
 * which is unverified for a missing member. */
must_check int space_open_empty(struct space *space, uint32_t member, const struct members *members,
				struct error *err);
/* Adds a run that overlaps no other. */
must_check int space_add(struct space *space, uint64_t start, uint64_t end, struct error *err);
void space_close(struct space *space);
uint64_t space_free(const struct space *space);

enum space_align {
	SPACE_BLOCK, /* start on a block */
	SPACE_WHOLE, /* do not straddle a block if shorter than one */
	SPACE_DENSE, /* start right behind the last byte */
};

/* Moves on to a run with room for length bytes, if the current one has no room and another one has. */
void space_prefer(struct space *space, uint64_t length);
/* Takes the next length bytes in one piece; false: no run has room. SPACE_WHOLE bytes may be placed before others that
 * were taken earlier, in their padding. */
bool space_take(struct space *space, uint64_t length, enum space_align align, uint64_t *ret_offset);
/* Leaves all padding so far unused for good. */
void space_forget_gaps(struct space *space);
/* Takes space for a catalogue, also where only catalogues may go. */
bool space_take_catalogue(struct space *space, uint64_t length, uint64_t *ret_offset);
/* Returns the bytes taken, in whole blocks. */
uint64_t space_taken(const struct space *space);
/* Returns where the next publish may continue; 0: the current segment is full. */
uint64_t space_tail(const struct space *space);
/* Notes bytes of earlier versions that the new version uses as well: their segments become the new version's, too. */
void space_hold(struct space *space, uint64_t offset, uint64_t length);
/* Adds the segments touched or held to a list, as whole segments, for a version record. */
must_check int space_segments(const struct space *space, struct extent_list *list, struct error *err);
uint64_t space_end(const struct space *space); /* returns the offset behind the last byte taken, in whole blocks */
